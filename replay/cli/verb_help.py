"""Where each verb stands in ``replay --help``, one line on it, and the examples that open its own help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typer.core import TyperGroup

FIRST_WEEK = "The first week"
PANELS: Sequence[str] = (FIRST_WEEK, "Run", "Look", "Compare", "Data", "People", "Serve")


@dataclass(frozen=True, slots=True)
class VerbHelp:
    """What help says of a verb beside its description and options."""

    panel: str
    summary: str
    """At most 60 characters, for the list of verbs."""
    examples: tuple[str, str]


VERB_HELP: dict[str, VerbHelp] = {
    "init": VerbHelp(
        FIRST_WEEK,
        "Write a scenario to start from.",
        ("replay init", "replay init --data 'logs/*.jsonl'"),
    ),
    "validate": VerbHelp(
        FIRST_WEEK,
        "Check a scenario and its data without asking anything.",
        ("replay validate scenario.yaml", "replay validate quickstart"),
    ),
    "run": VerbHelp(
        FIRST_WEEK,
        "Play a scenario and show its depth table.",
        ("replay run quickstart", "replay run scenario.yaml --limit 20 --junit junit.xml"),
    ),
    "report": VerbHelp(
        FIRST_WEEK,
        "Show a run's depth table again, also as a page for a browser.",
        ("replay report", "replay report runs/FOLDER --html page.html"),
    ),
    "view": VerbHelp(
        FIRST_WEEK,
        "Look at runs in a browser, live while one goes on.",
        ("replay view", "replay view runs/FOLDER --port 8001"),
    ),
    "compare": VerbHelp(
        FIRST_WEEK,
        "Compare two versions, systems or policies.",
        ("replay compare runs/BEFORE runs/AFTER", "replay compare --baseline baseline --fail-on f1"),
    ),
    "stress": VerbHelp(
        "Run",
        "Play a scenario under load, and look for its limit.",
        (
            "replay stress scenario.yaml --concurrency 8 --duration 60",
            "replay stress scenario.yaml --search 2..64 --slo latency_p99_s=0.5",
        ),
    ),
    "resume": VerbHelp(
        "Run",
        "Go on with a run that was interrupted or killed.",
        ("replay resume", "replay resume runs/FOLDER --with-new-data"),
    ),
    "rerun": VerbHelp(
        "Run",
        "Ask chosen turns of a finished run again.",
        ("replay rerun --only failed", "replay rerun runs/FOLDER --only 'depth>=3' --only policy=pred"),
    ),
    "score": VerbHelp(
        "Run",
        "Score a finished run again, or have judges judge it.",
        ("replay score --scorer f1 --scorer rouge_l", "replay score runs/FOLDER --judge all --dry-run"),
    ),
    "plot": VerbHelp(
        "Look",
        "Draw a figure for a paper.",
        (
            "replay plot --what depth --out depth.pdf",
            "replay plot runs/FOLDER --what gap --metric f1 --out gap.svg",
        ),
    ),
    "export": VerbHelp(
        "Look",
        "Write a run's turns, checks or steps for other programs.",
        ("replay export --out turns.csv", "replay export runs/FOLDER --table checks --out checks.parquet"),
    ),
    "plugins": VerbHelp(
        "Look",
        "List what a scenario can name.",
        ("replay plugins", "replay plugins --json"),
    ),
    "agree": VerbHelp(
        "Compare",
        "Show how far scores agree with people's ratings.",
        ("replay agree runs/FOLDER ratings.csv", "replay agree scores.csv ratings.csv --score f1 --json"),
    ),
    "score-file": VerbHelp(
        "Compare",
        "Score a table of answers against a table of gold answers.",
        (
            "replay score-file --benchmark gold.csv --responses answers.csv",
            "replay score-file --benchmark gold.csv --responses answers.csv --out scores.xlsx",
        ),
    ),
    "judge-file": VerbHelp(
        "Compare",
        "Have judges judge a table of answers.",
        (
            "replay judge-file answers.csv --judge geval.yaml --dry-run",
            "replay judge-file answers.csv --judge geval.yaml --out judged.csv",
        ),
    ),
    "drift": VerbHelp(
        "Data",
        "Say which questions drifted in conversations played elsewhere.",
        (
            "replay drift logs.jsonl --gold recorded.jsonl",
            "replay drift 'logs/*.jsonl' --out leaning.jsonl",
        ),
    ),
    "rewrite": VerbHelp(
        "Data",
        "Make a data set's questions clear without their history.",
        (
            "replay rewrite talks.jsonl --out questions.jsonl",
            "replay rewrite quac.json --format quac --limit 50 --native --out talks.jsonl",
        ),
    ),
    "collect": VerbHelp(
        "Data",
        "Make a suite of production logs, without personal data.",
        ("replay collect 'logs/*.jsonl' --out suite", "replay collect --review suite"),
    ),
    "synthesize": VerbHelp(
        "Data",
        "Make conversations from documents.",
        ("replay synthesize docs", "replay synthesize 'docs/*.md' -n 200 --turns 6 --out ours.jsonl"),
    ),
    "data": VerbHelp(
        "Data",
        "Show what a data set is made of, or two side by side.",
        ("replay data stats talks.jsonl", "replay data compare talks.jsonl quac.json --plot data.pdf"),
    ),
    "data stats": VerbHelp(
        "Data",
        "Count a data set's questions by kind, length and depth.",
        ("replay data stats talks.jsonl", "replay data stats quac.json --format quac --markdown"),
    ),
    "data compare": VerbHelp(
        "Data",
        "Show two data sets' figures side by side.",
        ("replay data compare talks.jsonl quac.json", "replay data compare a.jsonl b.jsonl --plot data.svg"),
    ),
    "study": VerbHelp(
        "People",
        "Let people talk with systems and judge them.",
        ("replay study demo", "replay study init mahueval my-study"),
    ),
    "study init": VerbHelp(
        "People",
        "Write a study file to start from.",
        ("replay study init mahueval my-study", "replay study init rating my-study --run runs/FOLDER"),
    ),
    "study demo": VerbHelp(
        "People",
        "Serve a small study to look at.",
        ("replay study demo", "replay study demo rating"),
    ),
    "study serve": VerbHelp(
        "People",
        "Serve a study to its raters.",
        ("replay study serve my-study/study.yaml", "replay study serve my-study/study.yaml --port 8100"),
    ),
    "study status": VerbHelp(
        "People",
        "Say how far a study is.",
        ("replay study status my-study/study.yaml", "replay study status my-study/study.yaml --json"),
    ),
    "study export": VerbHelp(
        "People",
        "Write a study's ratings as a run, tables and numbers.",
        (
            "replay study export my-study/study.yaml --out results",
            "replay study export my-study/study.yaml --out results --against runs/FOLDER",
        ),
    ),
    "serve": VerbHelp(
        "Serve",
        "Offer an adapter as an OpenAI-compatible chat server.",
        ("replay serve extractive --port 8080", "replay serve extractive --no-token --delay 0.05"),
    ),
}


class PanelGroup(TyperGroup):
    """
    A group whose help opens with examples and lists its verbs by their ``rich_help_panel``, in plain text.

    Typer shows panels with rich alone, whose import would make ``replay --help`` slower.
    """

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, then the description."""
        write_examples(ctx.command_path, formatter)
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel, in the order of ``PANELS``; verbs without one come last."""
        panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if not command.hidden:
                panel = getattr(command, "rich_help_panel", None)
                panels.setdefault(panel if isinstance(panel, str) else "Commands", []).append(
                    (name, command.get_short_help_str(80))
                )
        for panel, rows in panels.items():
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)


def write_examples(path: str, formatter: Any) -> None:
    """Write the examples of the verb at *path*, such as ``replay study init``, if it has some."""
    verb = VERB_HELP.get(path.partition(" ")[2])
    if verb is not None:
        with formatter.section("Examples"):
            for example in verb.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
