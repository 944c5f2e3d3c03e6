"""What several verbs share: arguments, options, and consent to what others' runs would do here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replay.cli.output import echo, open_console
from replay.report import LEAST_CHARS

if TYPE_CHECKING:
    from replay.core.safety.consent import UntrustedActions


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A scenario file, its folder, or the name of a shipped scenario."
    ),
]
RunArgument = Annotated[
    Path | None, typer.Argument(metavar="[RUN]", help="A run's folder; left out, the newest in --runs.")
]
RunsOption = Annotated[Path, typer.Option("--runs", metavar="FOLDER", help="The folder that holds the runs.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
MarkdownOption = Annotated[
    bool, typer.Option("--markdown", help="Print Markdown for a pull request instead of tables.")
]
MaxCharsOption = Annotated[
    int,
    typer.Option(
        "--max-chars",
        min=LEAST_CHARS,
        metavar="N",
        help="With --markdown: so many characters at most; what has no room is counted in its place.",
    ),
]
WorkersOption = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N|auto",
        help="Processes that play, in the place of play.workers; auto: one for each core.",
    ),
]
OnOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="ray|ADDRESS|here",
        help="Who plays: the nodes of a Ray cluster (ray: the scenario's own, or this machine's; or that at "
        "an address as in ray://HOST:10001), or this program (here).",
    ),
]
FullOption = Annotated[
    bool, typer.Option("--full", help="Of a run under load: every table. Left out, one screen.")
]
JunitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write there as JUnit XML what became of the assertions."),
]
FailOnOption = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="worse",
        help="End with 100 if an answer is worse than the recorded one; worse>2 and worse>5% allow some, of "
        "each system under each policy.",
    ),
]
OtlpOption = Annotated[
    str | None,
    typer.Option("--otlp", metavar="URL", help="Send spans to this collector of OpenTelemetry's."),
]
SystemOption = Annotated[list[str] | None, typer.Option("--system", metavar="NAME", help="Only this system.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="The reader; found out if left out.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the reader; may be given several times."),
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Conversations at most.")]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Skip and report conversations that can't be read.")
]
LinesOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Standard output when left out.")
]
TableOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="A .csv, .xlsx or .jsonl file.")
]
WidthOption = Annotated[
    Literal["column", "page"], typer.Option("--width", help="column: 3.3 inches. page: 7 inches.")
]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")]
HostOption = Annotated[str, typer.Option("--host", help="The address to bind to.")]
PolicyOption = Annotated[list[str] | None, typer.Option("--policy", metavar="NAME", help="Only this policy.")]
ResamplesOption = Annotated[
    int, typer.Option("--resamples", min=0, help="Bootstrap samples for the intervals; 0 for none.")
]
IntervalOption = Annotated[
    Literal["t", "percentile", "bca"],
    typer.Option(
        "--interval",
        help="t: also for few conversations; percentile and bca, of the bootstrap, are too narrow there.",
    ),
]

WrittenJudgeOption = Annotated[
    list[str],
    typer.Option(
        "--judge",
        metavar="JUDGE",
        help="As in a scenario, such as '{geval: {mode: logprobs, adapter: openai, settings: {...}}}', or a "
        "YAML file with the same. May be given several times.",
    ),
]
PricesOption = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="A price table, for judges that name no prices."),
]
FreshOption = Annotated[
    bool, typer.Option("--no-cache", help="Ask again what was asked before, and keep no reply.")
]
PlanOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what the judges would take, and ask nothing.")
]

TokenEnvOption = Annotated[
    str | None,
    typer.Option(
        "--token-env",
        metavar="NAME",
        help="The environment variable with the token to ask for. Left out, a new one is made and printed.",
    ),
]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="A name that the server is reached by, beside its address; may be given several times.",
    ),
]
NoTokenOption = Annotated[
    bool,
    typer.Option("--no-token", help="Ask for no token: whoever reaches the address is let in."),
]

RUNS = Path("runs")


def choose_workers(workers: str | None) -> int | Literal["auto"] | None:
    """
    Return how many processes are to play; None where nothing was said.

    Raises:
        InputError: it is neither a number nor ``auto``.
    """
    from replay.core.errors import InputError

    if workers is None:
        return None
    if workers == "auto":
        return "auto"
    if not workers.isdecimal():
        raise InputError(f'--workers: "{workers}" is no number of processes; give one from 1 on, or auto')
    return int(workers)


def run_folder(run: Path | None, runs: Path) -> Path:
    """
    Return the run that was named, or the newest one.

    Raises:
        RunError: none was named and there is none.
    """
    from replay.results.run import newest_run

    return newest_run(runs) if run is None else run


def choose_token(token_env: str | None, no_token: bool, danger: str) -> str | None:
    """
    Return the token that a server asks for; None for none, and then *danger* is said.

    Raises:
        InputError: the two options don't go together, or the variable holds no token.
    """
    from replay.core.errors import InputError
    from replay.web.access import new_token, token_from

    if no_token:
        if token_env is not None:
            raise InputError("--token-env and --no-token don't go together; leave one of them out")
        echo(f"warning: no token: {danger}", err=True)
        return None
    return new_token() if token_env is None else token_from(token_env)


AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Of a run that you didn't begin on this machine: do what it names, without asking.",
    ),
]


def ask_consent(actions: UntrustedActions | None, *, allow_code: bool) -> None:
    """
    Go on if the user says so, on a terminal, or said so by ``--allow-code``.

    Raises:
        RunError: there is nobody to ask.
        typer.Exit: the user says no.
    """
    from replay.core.safety.consent import check_consent

    if not actions or allow_code or not (sys.stdin.isatty() and open_console(stderr=True).is_terminal):
        check_consent(actions, allow_code=allow_code, say="--allow-code")
        return
    echo(*actions.text().split("\n"), err=True)
    if not typer.confirm("Do you trust where it came from?", default=False, err=True):
        echo("nothing was done", err=True)
        raise typer.Exit(2)
