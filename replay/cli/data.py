"""``replay data``: what data sets are made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli.arguments import FormatOption, JsonOption, LimitOption, SetOption, SkipBadOption, WidthOption
from replay.cli.output import echo, echo_json, open_console
from replay.cli.verb_help import PanelGroup, Verb

if TYPE_CHECKING:
    from replay.report.document import ReportDocument
    from replay.synthesis.data_statistics import DataStatistics

data: typer.Typer = typer.Typer(
    name="data",
    cls=PanelGroup,
    help="Show what a data set is made of, or two side by side.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SampleOption = Annotated[
    int,
    typer.Option(
        "--sample",
        min=0,
        help="Of questions without a standalone form, so many are read by the embedded resolver to say "
        "whether they lean on what was said; 0: none.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="For that draw, and for near-duplicates.")]
DataMarkdownOption = Annotated[
    bool, typer.Option("--markdown", help="Print Markdown instead of tables for a terminal.")
]


@data.command(cls=Verb)
def stats(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Data files, or glob patterns.")],
    format: FormatOption = None,
    setting: SetOption = None,
    limit: LimitOption = None,
    skip_bad: SkipBadOption = False,
    sample: SampleOption = 400,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    markdown: DataMarkdownOption = False,
) -> None:
    """
    Show how a data set's questions ask, how many lean on what was said, and how often turns repeat.
    """
    from replay.synthesis.data_document import data_document

    name = ", ".join(Path(file).name for file in files)
    found = _statistics(files, format, setting or [], limit, skip_bad, sample, seed, name)
    if as_json:
        echo_json(found.to_json())
    else:
        _show(data_document([found]), markdown)


@data.command(cls=Verb)
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A data file, or a glob pattern.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    format: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="NAME", help="The reader; once for both, or once for each."),
    ] = None,
    limit: LimitOption = None,
    skip_bad: SkipBadOption = False,
    sample: SampleOption = 400,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    markdown: DataMarkdownOption = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw it too: a .pdf, .svg or .png file.")
    ] = None,
    width: WidthOption = "page",
) -> None:
    """
    Show the figures of two data sets side by side.
    """
    from replay.core.errors import InputError
    from replay.report.drawing import check_can_draw, format_of, save, style
    from replay.synthesis.data_document import data_document, data_figure

    formats: list[str | None] = [*format] if format else [None]
    if len(formats) > 2:
        raise InputError("--format is given once for both data sets, or once for each")
    if plot:
        check_can_draw()
        format_of(plot)
    names = [Path(first).name, Path(second).name]
    found = [
        _statistics([file], reader, [], limit, skip_bad, sample, seed, name if names[0] != names[1] else file)
        for file, reader, name in zip((first, second), (formats[0], formats[-1]), names, strict=True)
    ]
    if as_json:
        echo_json([one.to_json() for one in found])
    else:
        _show(data_document(found), markdown)
    if plot:
        with style():
            figure = data_figure(found, width)
        for said in save(figure, plot):
            echo(said, err=True)
        echo(f"wrote {plot}", err=as_json)


def _statistics(
    files: Sequence[str],
    format: str | None,
    setting: Sequence[str],
    limit: int | None,
    skip_bad: bool,
    sample: int,
    seed: int,
    name: str,
) -> DataStatistics:
    from replay.cli.settings import read_named
    from replay.coreference.reading.embedded import EmbeddedResolver
    from replay.synthesis.data_statistics import data_statistics

    skipped: list[Exception] = []
    conversations = read_named(files, format, setting, skipped if skip_bad else None, limit)
    resolver = EmbeddedResolver() if sample else None
    found = data_statistics(name, conversations, resolver=resolver, sample=sample, seed=seed)
    for error in skipped:
        echo(f"skipped: {error}", err=True)
    return found


def _show(document: ReportDocument, markdown: bool) -> None:
    from replay.report.markdown import document_markdown
    from replay.report.text import print_titled

    if markdown:
        echo(*document_markdown(document).split("\n"))
    else:
        print_titled(document, open_console())
