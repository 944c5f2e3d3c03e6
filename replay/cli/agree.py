"""``replay agree``: how far scores and people agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replay.cli.arguments import IntervalOption, JsonOption, ResamplesOption
from replay.cli.output import echo, echo_json, open_console

if TYPE_CHECKING:
    from replay.tables.items import ItemSet


def agree(
    scores: Annotated[Path, typer.Argument(metavar="SCORES", help="A run's folder, or a file with scores.")],
    human: Annotated[Path, typer.Argument(metavar="HUMAN", help="A file with people's ratings.")],
    score: Annotated[
        list[str] | None,
        typer.Option("--score", metavar="NAME", help="Only this score; may be given several times."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="NAME", help="Hold every score against this criterion of people."),
    ] = None,
    format: Annotated[
        Literal["fed", "usr", "unieval", "dataworkz", "table"] | None,
        typer.Option("--format", help="Of HUMAN; found out from it if left out."),
    ] = None,
    level: Annotated[
        Literal["turn", "dialogue"], typer.Option("--level", help="Rated turns or rated dialogues.")
    ] = "turn",
    scale: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"],
        typer.Option("--scale", help="What Krippendorff's alpha takes the ratings for."),
    ] = "ordinal",
    score_range: Annotated[
        str | None, typer.Option("--score-range", metavar="LOW,HIGH", help="With --human-range: map scores.")
    ] = None,
    human_range: Annotated[
        str | None, typer.Option("--human-range", metavar="LOW,HIGH", help="Onto this, for differences.")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="FOLDER", help="Draw four plots, as PNG and SVG.")
    ] = None,
    resamples: ResamplesOption = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For resamples.")] = 0,
    interval: IntervalOption = "t",
    as_json: JsonOption = False,
) -> None:
    """
    Show how far scores agree with people's ratings, and the raters among themselves.

    Items are joined by their ids, by conversation and depth, or by row.
    """

    from replay.core.errors import InputError
    from replay.report.drawing import check_can_draw
    from replay.report.text import print_document
    from replay.tables.agreement_document import draw_plots, study_document
    from replay.tables.agreement_study import StudySettings, agreement_study
    from replay.tables.rating_files import read_items

    if (score_range is None) != (human_range is None):
        raise InputError("--score-range and --human-range go together")
    if plots:
        check_can_draw()
    study = agreement_study(
        _scores(scores),
        read_items(human, "ratings", format),
        score=score or (),
        against=against,
        settings=StudySettings(
            level=level,
            scale=scale,
            score_range=_range(score_range, "--score-range") if score_range else None,
            human_range=_range(human_range, "--human-range") if human_range else None,
            resamples=resamples,
            seed=seed,
            method=interval,
        ),
    )
    files = draw_plots(study, plots) if plots else []
    if as_json:
        echo_json({**study.to_json(), "plots": [str(file) for file in files]})
        return
    print_document(study_document(study), open_console())
    for file in files:
        echo(f"wrote {file}")


def _scores(path: Path) -> ItemSet:
    if not path.is_dir():
        from replay.tables.rating_files import read_items

        return read_items(path, "scores")
    from replay.results.run import Run
    from replay.tables.items import run_items

    return run_items(str(path), *Run(path).scored())


def _range(text: str, option: str) -> tuple[float, float]:
    from replay.core.errors import InputError

    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{option} {text}: LOW,HIGH is expected, as in 1,5") from error
    if not low < high:
        raise InputError(f"{option} {text}: the first number has to be the smaller one")
    return low, high
