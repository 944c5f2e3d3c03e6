"""``replay export``: a run's tables for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal, get_args

import typer

from replay.cli.arguments import RUNS, RunArgument, RunsOption, run_folder
from replay.cli.output import binary_output, echo

if TYPE_CHECKING:
    from replay.core.conversation import Conversation
    from replay.results.run import Run

Format = Literal["csv", "jsonl", "parquet"]


def export(
    run: RunArgument = None,
    runs: RunsOption = RUNS,
    table: Annotated[
        Literal["turns", "steps", "checks", "conversations", "evalconvqa", "raw", "spans"],
        typer.Option(
            "--table",
            help="turns: one row each; "
            "steps: one row for each message between a question and its answer, calls of tools and results; "
            "checks: one row for each check that the data makes, with its turn; "
            "conversations: as the native data format; "
            "evalconvqa: the published program's two files per system and policy, into a folder; "
            "raw: replies as they came, where the scenario kept them (play: keep_raw); "
            "spans: OpenTelemetry's, with scores, as OTLP.",
        ),
    ] = "turns",
    format: Annotated[
        Format | None, typer.Option("--format", help="Found out from --out if left out.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Standard output when left out; a folder for evalconvqa."
        ),
    ] = None,
    otlp: Annotated[
        str | None,
        typer.Option("--otlp", metavar="URL", help="Send spans to this collector; --out is for files."),
    ] = None,
    content: Annotated[
        bool, typer.Option("--content", help="Spans have questions, answers and explanations in them.")
    ] = False,
) -> None:
    """Write a run's turns, their steps, its checks, or the conversations it replayed, for other programs."""
    from replay.core.errors import InputError, writing
    from replay.report.export import export_turns
    from replay.results.run import Run

    if table == "evalconvqa":
        _export_evalconvqa(Run(run_folder(run, runs)), format, out)
        return
    if table == "spans":
        _export_spans(run_folder(run, runs), format, out, otlp, content=content)
        return
    if otlp is not None or content:
        raise InputError("--otlp and --content are for --table spans")
    suffix = out.suffix.removeprefix(".") if out else "csv"
    chosen = format or next((known for known in get_args(Format) if known == suffix), None)
    if chosen is None:
        raise InputError(f'"{out}" doesn\'t say which format it wants; add --format csv, jsonl or parquet')
    found = Run(run_folder(run, runs))
    if table == "raw" and format is not None and chosen != "jsonl":
        raise InputError("raw replies have a shape of their own, so they can only be written as jsonl")
    if table == "conversations" and chosen != "jsonl":
        raise InputError("conversations are nested, so they can only be written with --format jsonl")
    # Standard output is nobody's file: what fails there is said by `main`.
    with writing(out) if out else nullcontext():
        if table == "raw":
            _export_raw(found, out)
        elif table == "conversations":
            _export_conversations(found.conversations(), out)
        elif table == "steps":
            _export_steps(found, out or binary_output(text=chosen != "parquet"), chosen)
        elif table == "checks":
            _export_checks(found, out or binary_output(text=chosen != "parquet"), chosen)
        else:
            with found.scored_one_by_one() as (records, scores):
                export_turns(records, scores, out or binary_output(text=chosen != "parquet"), chosen)


def _export_steps(run: Run, target: Path | IO[bytes], format: Format) -> None:
    from replay.report.export import export_steps

    with run.scored_one_by_one() as (records, _):
        if not export_steps(records, target, format):
            echo("no tool was called in this run, as far as its systems say", err=True)


def _export_checks(run: Run, target: Path | IO[bytes], format: Format) -> None:
    from replay.report.export import export_checks

    if not export_checks(run.checks(), target, format):
        echo("the data of this run checks nothing; `expect` in it does", err=True)


def _export_evalconvqa(run: Run, format: Format | None, out: Path | None) -> None:
    from replay.core.errors import InputError, writing
    from replay.report.export import write_evalconvqa

    if format is not None:
        raise InputError("--table evalconvqa has a format of its own; leave --format out")
    if out is None:
        raise InputError("--table evalconvqa writes several files; name a folder with --out")
    with writing(out):
        skips = run.scenario().scenario.drift.skip_entity
        conversations = [c.id for c in run.conversations()]
        written = write_evalconvqa(run.records(), conversations, out, skip_entity=skips)
    for path in written:
        echo(path)


def _export_spans(
    folder: Path, format: Format | None, out: Path | None, otlp: str | None, *, content: bool
) -> None:
    from replay.core.errors import InputError, writing
    from replay.results.telemetry import export_run

    if format not in (None, "jsonl"):
        raise InputError("spans have a shape of their own, so they can only be written as jsonl")
    if otlp is not None and out is None:
        export_run(folder, endpoint=otlp, stream=None, content=content)
        return
    with ExitStack() as stack:
        stream = binary_output()
        if out is not None:
            with writing(out):
                stream = stack.enter_context(out.open("wb"))
        export_run(folder, endpoint=otlp, stream=stream, content=content)


def _export_raw(run: Run, out: Path | None) -> None:
    from replay.report.export import export_raw

    if out is None:
        export_raw(run.raw_replies(), binary_output())
        return
    with out.open("wb") as stream:
        count = export_raw(run.raw_replies(), stream)
    if not count:
        echo("no reply was kept; `keep_raw: true` under `play` keeps them", err=True)


def _export_conversations(conversations: Iterable[Conversation], out: Path | None) -> None:
    from replay.datasets.native import native_line, write_native

    if out is not None:
        write_native(conversations, out)
        return
    stream = binary_output()
    for conversation in conversations:
        stream.write(native_line(conversation))
