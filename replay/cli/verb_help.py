"""
Where each verb stands in ``replay --help``, one line on it, and the examples that open its own help.

A verb whose help opens with examples, and whose complaint about an unknown option names those it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typer.core import TyperCommand, TyperGroup

FIRST_WEEK = "The first week"


@dataclass(frozen=True, slots=True)
class VerbHelp:
    """What help says of a verb beside its description and options."""

    panel: str
    summary: str
    """At most 60 characters, for the list of verbs."""
    examples: Sequence[str]


_VERBS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    FIRST_WEEK: {
        "init": ("Write a scenario to start from.", "", "--data 'logs/*.jsonl'"),
        "validate": ("Check a scenario and its data without asking anything.", "scenario.yaml", "quickstart"),
        "run": (
            "Play a scenario and show its depth table.",
            "quickstart",
            "scenario.yaml --limit 20 --junit junit.xml",
        ),
        "report": (
            "Show a run's depth table again, also as a page for a browser.",
            "",
            "runs/FOLDER --html page.html",
        ),
        "view": ("Look at runs in a browser, live while one goes on.", "", "runs/FOLDER --port 8001"),
        "compare": (
            "Compare two versions, systems or policies.",
            "runs/BEFORE runs/AFTER",
            "--baseline baseline --fail-on f1",
        ),
    },
    "Run": {
        "stress": (
            "Play a scenario under load, and look for its limit.",
            "scenario.yaml --concurrency 8 --duration 60",
            "scenario.yaml --search 2..64 --slo latency_p99_s=0.5",
        ),
        "resume": ("Go on with a run that was interrupted or killed.", "", "runs/FOLDER --with-new-data"),
        "rerun": (
            "Ask chosen turns of a finished run again.",
            "--only failed",
            "runs/FOLDER --only 'depth>=3' --only policy=pred",
        ),
        "score": (
            "Score a finished run again, or have judges judge it.",
            "--scorer f1 --scorer rouge_l",
            "runs/FOLDER --judge all --dry-run",
        ),
    },
    "Look": {
        "plot": (
            "Draw a figure for a paper.",
            "--what depth --out depth.pdf",
            "runs/FOLDER --what gap --metric f1 --out gap.svg",
        ),
        "export": (
            "Write a run's turns, checks or steps for other programs.",
            "--out turns.csv",
            "runs/FOLDER --table checks --out checks.parquet",
        ),
        "plugins": ("List what a scenario can name.", "", "--json"),
    },
    "Compare": {
        "agree": (
            "Show how far scores agree with people's ratings.",
            "runs/FOLDER ratings.csv",
            "scores.csv ratings.csv --score f1 --json",
        ),
        "score-file": (
            "Score a table of answers against a table of gold answers.",
            "--benchmark gold.csv --responses answers.csv",
            "--benchmark gold.csv --responses answers.csv --out scores.xlsx",
        ),
        "judge-file": (
            "Have judges judge a table of answers.",
            "answers.csv --judge geval.yaml --dry-run",
            "answers.csv --judge geval.yaml --out judged.csv",
        ),
    },
    "Data": {
        "collect": (
            "Make a suite of production logs, without personal data.",
            "'logs/*.jsonl' --out suite",
            "--review suite",
        ),
        "drift": (
            "Say which questions drifted in conversations played elsewhere.",
            "logs.jsonl --gold recorded.jsonl",
            "'logs/*.jsonl' --out leaning.jsonl",
        ),
        "rewrite": (
            "Make a data set's questions clear without their history.",
            "talks.jsonl --out questions.jsonl",
            "quac.json --format quac --limit 50 --native --out talks.jsonl",
        ),
        "synthesize": (
            "Make conversations from documents.",
            "docs",
            "'docs/*.md' -n 200 --turns 6 --out ours.jsonl",
        ),
        "data": (
            "Show what a data set is made of, or two side by side.",
            "stats talks.jsonl",
            "compare talks.jsonl quac.json --plot data.pdf",
        ),
        "data stats": (
            "Count a data set's questions by kind, length and depth.",
            "talks.jsonl",
            "quac.json --format quac --markdown",
        ),
        "data compare": (
            "Show two data sets' figures side by side.",
            "talks.jsonl quac.json",
            "a.jsonl b.jsonl --plot data.svg",
        ),
    },
    "People": {
        "study": ("Let people talk with systems and judge them.", "demo", "init mahueval my-study"),
        "study init": (
            "Write a study file to start from.",
            "mahueval my-study",
            "rating my-study --run runs/FOLDER",
        ),
        "study demo": ("Serve a small study to look at.", "", "rating"),
        "study serve": (
            "Serve a study to its raters.",
            "my-study/study.yaml",
            "my-study/study.yaml --port 8100",
        ),
        "study status": ("Say how far a study is.", "my-study/study.yaml", "my-study/study.yaml --json"),
        "study export": (
            "Write a study's ratings as a run, tables and numbers.",
            "my-study/study.yaml --out results",
            "my-study/study.yaml --out results --against runs/FOLDER",
        ),
    },
    "Serve": {
        "serve": (
            "Offer an adapter as an OpenAI-compatible chat server.",
            "extractive --port 8080",
            "extractive --no-token --delay 0.05",
        ),
    },
}
"""By panel and name: a line on the verb, and what stands behind it in two examples."""

VERB_HELP: Mapping[str, VerbHelp] = {
    name: VerbHelp(panel, summary, [f"replay {name} {rest}".rstrip() for rest in examples])
    for panel, verbs in _VERBS.items()
    for name, (summary, *examples) in verbs.items()
}
PANELS: Sequence[str] = tuple(_VERBS)


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
        """Write a section for each panel of ``PANELS``, in their order; a nested group has one section."""
        path = ctx.command_path.partition(" ")[2]
        panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for name in self.list_commands(ctx):
            verb = VERB_HELP[f"{path} {name}".strip()]
            panels.setdefault("Commands" if path else verb.panel, []).append((name, verb.summary))
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


_ALSO_CALLED = {
    "metric": "scorer",
    "metrics": "scorer",
    "model": "system",
    "models": "system",
    "output": "out",
    "file": "out",
    "input": "data",
    "dataset": "data",
    "processes": "workers",
    "jobs": "workers",
}
"""What other programs call options of ours."""


class Verb(TyperCommand):
    """A command whose help opens with examples, and whose complaint about an unknown option leads on."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, then the description."""
        write_examples(ctx.command_path, formatter)
        super().format_help_text(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """
        Parse *args* as the command does; add suggestions to the error about an unknown option.

        An option without a similar name gets its synonym, or else the list of all options.
        """
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # whose class is typer's own since 0.26 and click's before
            unknown = getattr(error, "option_name", None)
            if type(error).__name__ == "NoSuchOption" and not getattr(error, "possibilities", None):
                # Typer shows them behind its message.
                vars(error)["possibilities"] = self._possible_options(str(unknown))
            raise

    def _possible_options(self, unknown: str) -> list[str]:
        options = [name for parameter in self.params for name in parameter.opts if name.startswith("--")]
        other = f"--{_ALSO_CALLED.get(unknown.strip('-'), '')}"
        return [other] if other in options else options
