"""``replay study``: people talk to systems, and judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli.arguments import ResamplesOption
from replay.cli.output import echo
from replay.cli.study_starting import demo, init

study = typer.Typer(
    name="study",
    help="Let people talk to a system, judge it, and compare their judgements with scores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
study.command()(init)
study.command()(demo)

StudyArgument = Annotated[Path, typer.Argument(metavar="STUDY", help="The study file.")]
DbOption = Annotated[
    Path | None,
    typer.Option(
        "--db", metavar="FILE", help="The study's database; left out, study.db beside the study file."
    ),
]


@study.command()
def serve(
    path: StudyArgument,
    db: DbOption = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = 8770,
    host: Annotated[str, typer.Option("--host", help="The address to bind to.")] = "127.0.0.1",
) -> None:
    """
    Serve a study to its raters; begins it if it hasn't begun, goes on with it if it has.
    """
    import asyncio

    from replay.cli.signals import INTERRUPTED, until_told_to_end
    from replay.core.settings.code_gate import code_may_run
    from replay.study.conduct.beginning import begin_study, check_unchanged, open_study
    from replay.study.conduct.flow import Flow
    from replay.study.conduct.live import LiveTalks, built_systems
    from replay.study.conduct.study_file import read_study
    from replay.study.pages.server import StudyPages, serve_study
    from replay.study.store import DATABASE

    file = read_study(path)
    database = db or path.resolve().parent / DATABASE
    with code_may_run():
        systems = built_systems(file)
        if not database.exists():
            begin_study(file, database)
    kept, store = open_study(database, write=True)
    try:
        check_unchanged(file, store)
        pages = StudyPages(Flow(kept, store), LiveTalks(kept, store, systems))

        def ready(address: str) -> None:
            echo(f"owner: {address}/owner?token={pages.access.owner_token}")
            for rater in store.raters():
                echo(f"{rater.name}: {address}/rate?token={pages.access.rater_token(rater.id)}")

        asyncio.run(until_told_to_end(serve_study(pages, host=host, port=port, ready=ready)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(INTERRUPTED) from None
    finally:
        store.close()


@study.command()
def export(
    path: StudyArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="A folder that is not there yet.")
    ],
    db: DbOption = None,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Call raters by names that nobody can trace back.")
    ] = False,
    resamples: ResamplesOption = 1000,
) -> None:
    """
    Write what came out of a study for other programs: a run, tables, conversations, numbers.

    It may be served meanwhile.
    """
    from replay.study.conduct.export import export_study
    from replay.study.store import DATABASE

    database = db or path.resolve().parent / DATABASE
    exported = export_study(database, out, with_pseudonyms=pseudonyms, resamples=resamples)
    for remark in exported.remarks:
        echo(remark, err=True)
    for file in exported.files:
        echo(file)
