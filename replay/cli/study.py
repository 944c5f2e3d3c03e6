"""``replay study``: people talk to systems, and judge them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli.arguments import AllowHostOption, ResamplesOption
from replay.cli.near_misses import Verb
from replay.cli.output import echo
from replay.cli.study_arguments import DbOption, StudyArgument
from replay.cli.study_status import status
from replay.cli.verb_help import VERB_HELP, PanelGroup

if TYPE_CHECKING:
    from replay.study.running.study_file import StudyFile

study: typer.Typer = typer.Typer(
    name="study",
    cls=PanelGroup,
    help="Let people talk to a system, judge it, and compare their judgements with scores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PresetArgument = Annotated[
    str, typer.Argument(metavar="PRESET", help="mahueval, convqa, rating, compare, drift or wording.")
]


@study.command(cls=Verb, short_help=VERB_HELP["study init"].summary)
def init(
    preset: PresetArgument,
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to write it.")] = Path("study"),
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="The folder of the run that is judged; left out, a small one is played with the embedded "
            "system. Only for rating, compare and drift.",
        ),
    ] = None,
) -> None:
    """
    Write a commented study file to start from, with small data; it works as it is.
    """
    from replay.study.running.start import STUDY_FILE, write_starter

    for path in write_starter(preset, folder, run):
        echo(f"wrote {path}")
    echo(f"next: replay study serve {folder / STUDY_FILE}")


@study.command(cls=Verb, short_help=VERB_HELP["study demo"].summary)
def demo(
    preset: PresetArgument = "mahueval",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Keep the study there, or go on with the one that is; left out, it is gone when you end it.",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = 8770,
) -> None:
    """
    Serve a small study to look at, with the embedded system: no network, no key.

    Open a rater's link and the owner's, each in a browser window of its own.
    """
    from tempfile import TemporaryDirectory

    from replay.study.running.start import STUDY_FILE, write_starter

    with TemporaryDirectory(prefix="replay-study-", ignore_cleanup_errors=True) as temporary:
        where = folder or Path(temporary) / preset
        if not (where / STUDY_FILE).exists():
            write_starter(preset, where)
        echo(f"a {preset} study in {where}{'' if folder else ', gone when you end it (--folder keeps it)'}")
        serve(where / STUDY_FILE, port=port)


study.command(cls=Verb, short_help=VERB_HELP["study status"].summary)(status)


@study.command(cls=Verb, short_help=VERB_HELP["study serve"].summary)
def serve(
    path: StudyArgument = Path(),
    db: DbOption = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = 8770,
    host: Annotated[str, typer.Option("--host", help="The address to bind to.")] = "127.0.0.1",
    allow_host: AllowHostOption = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="The address that people see, where another server stands before this one: "
            "https://lab.example.org/study. With https, cookies are sent by TLS only.",
        ),
    ] = None,
) -> None:
    """
    Serve a study to its raters; begins it if it hasn't begun, goes on with it if it has.

    Prints the links: one for the study's owner, and a personal one for each rater.
    """
    from contextlib import nullcontext

    from replay.cli.signals import run_server
    from replay.core.safety.code_gate import code_may_run
    from replay.study.pages.access import WHO_REACHES
    from replay.study.pages.owner import entry_link
    from replay.study.pages.server import StudyPages
    from replay.study.running.flow import Flow
    from replay.study.running.live import LiveTalks, built_systems
    from replay.study.running.start import begin_study, check_unchanged, find_study, open_study
    from replay.study.running.study_file import read_study
    from replay.web.access import address_of, explain_bind_address, shown_origin
    from replay.web.app import serve as serve_app

    found = find_study(path, db)
    address = address_of(url, host, allow_host or ())
    file = None if found.file is None else read_study(found.file)
    # Whoever names a study file says what is to run; a database alone may have come from anybody.
    with nullcontext() if file is None else code_may_run():
        if file is not None and not found.database.exists():
            built_systems(file)  # what is wrong with them is better mended before the study begins
            begin_study(file, found.database)
        kept, store = open_study(found.database, write=True)
        try:
            if file is not None:
                check_unchanged(file, store)
                _tell_of_names(file, {rater.name for rater in store.raters()})
            live = LiveTalks(kept, store, built_systems(file or kept))
            pages = StudyPages(
                Flow(kept, store), live, root=address.root, names=address.names, origin=address.origin
            )
            if (said := explain_bind_address(host, WHO_REACHES, address)) is not None:
                echo(f"warning: {said}", err=True)

            def ready(bound: str) -> None:
                start = (address.origin or shown_origin(bound)) + address.root
                echo(f"owner: {start}/owner?token={pages.access.owner_token}")
                if (entry := entry_link(kept.study.platform, start, pages.access)) is not None:
                    echo(f"everyone from the platform: {entry}")
                for rater in store.raters():
                    if rater.withdrawn_at is None:
                        echo(f"{rater.name}: {start}/rate?token={pages.access.rater_token(rater.id)}")

            run_server(serve_app(pages.app(), host, port, ready=ready))
        finally:
            store.close()


@study.command(cls=Verb, short_help=VERB_HELP["study export"].summary)
def export(
    path: StudyArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="A folder that is not there yet.")
    ],
    db: DbOption = None,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Call raters by names that nobody can trace back.")
    ] = False,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            "--against",
            metavar="RUN",
            help="A run of the study's systems and data whose scores are held against what people said of "
            "their talks; may be given several times.",
        ),
    ] = None,
    resamples: ResamplesOption = 1000,
) -> None:
    """
    Write what came out of a study for other programs: a run, tables, conversations, numbers.

    It may be served meanwhile.
    """
    from replay.study.running.export import export_study
    from replay.study.running.start import find_study

    exported = export_study(
        find_study(path, db).database,
        out,
        against=against or (),
        with_pseudonyms=pseudonyms,
        resamples=resamples,
    )
    for remark in exported.remarks:
        echo(remark, err=True)
    for file in exported.files:
        echo(file)


def _tell_of_names(file: StudyFile, known: Collection[str]) -> None:
    """The list of raters is read when a study begins; what is added to it later has no effect."""
    listed = file.study.raters if isinstance(file.study.raters, tuple) else ()
    for name in listed:
        if name not in known:
            echo(
                f'warning: "{name}" is in {file.source} and not in this study: add raters on the owner\'s '
                "page, or take the name out of the file if their data was erased",
                err=True,
            )
