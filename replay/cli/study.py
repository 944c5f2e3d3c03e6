"""``replay study``: people talk to systems, and judge them; and where a study stands."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli.arguments import AllowHostOption, HostOption, JsonOption, PortOption, ResamplesOption
from replay.cli.output import echo, echo_json, open_console
from replay.cli.verb_help import PanelGroup, Verb

if TYPE_CHECKING:
    from replay.study.running.study_file import StudyFile


StudyArgument = Annotated[
    Path,
    typer.Argument(
        metavar="[STUDY]", help="A study file, its folder, or its database; left out, this folder."
    ),
]
DbOption = Annotated[
    Path | None,
    typer.Option(
        "--db", metavar="FILE", help="The study's database; left out, study.db beside the study file."
    ),
]


WERE = ("was", "were")

if TYPE_CHECKING:
    from replay.study.running.overview import RelativeTime, StudyOverview


def status(path: StudyArgument = Path(), db: DbOption = None, as_json: JsonOption = False) -> None:
    """
    Say where a study stands: who is where, what is done, how far raters agree, what was too fast.

    It may be served meanwhile. Nothing of what people wrote is printed.
    """
    from replay.study.running.overview import RelativeTime, overview_of
    from replay.study.running.participation import is_pilot, phase_of
    from replay.study.running.start import find_study, open_study

    file, store = open_study(find_study(path, db).database)
    with closing(store):
        state, seen, now = store.state(), store.last_seen(), store.now()
        phase = "pilot, " * is_pilot(file, store) + phase_of(store)
    overview = overview_of(file, state, seen)
    if as_json:
        echo_json({"study": file.study.name, "at": now, "phase": phase, **overview.to_json()})
    else:
        _print(f"{file.study.name} ({phase})", overview, RelativeTime(now), file.study.limits.too_fast_s)


def _print(name: str, overview: StudyOverview, ago: RelativeTime, too_fast_s: float) -> None:
    from replay.report.document import PlainLines, ReportDocument, ReportSection, Table
    from replay.report.numbers import count_text
    from replay.report.printing import column
    from replay.report.text import print_document
    from replay.study.running.overview import display_value

    raters, balance = overview.raters, overview.balance
    tables = {
        name: [
            column("rater", [one.rater.name for one in raters], left=True),
            column("where", [one.standing for one in raters], left=True),
            column("done", [str(one.done) for one in raters]),
            column("last seen", [ago(one.seen_at) for one in raters], left=True),
            column("s/screen", ["-" if one.median_s is None else f"{one.median_s:.1f}" for one in raters]),
            column("too fast", [f"{one.too_fast} of {one.screens}" for one in raters]),
        ],
        "": [
            column("round", [str(one.round) for one in balance]),
            column("work", [one.kind for one in balance], left=True),
            column("system", [one.system or "" for one in balance], left=True),
            column("tasks", [str(one.tasks) for one in balance]),
            column("wanted", [str(one.wanted) for one in balance]),
            column("done", [str(one.done) for one in balance]),
            column("open", [str(one.open) for one in balance]),
            column("set aside", [str(one.set_aside) for one in balance]),
        ],
    }
    if found := overview.agreement:
        tables["Agreement, on screens that two or more have answered"] = [
            column("question", [one.label for one in found], left=True),
            column("screens", [str(one.items) for one in found]),
            column("equal", [display_value(one.equal) for one in found], left=True),
            column("Cohen's kappa", [display_value(one.cohen) for one in found], left=True),
            column("Fleiss' kappa", [display_value(one.fleiss) for one in found], left=True),
            column("alpha", [display_value(one.alpha) for one in found], left=True),
        ]
    said = [f"{count_text(len(overview.partings), 'screen')} on which raters part."]
    if overview.fast:
        said.append(
            f"{count_text(len(overview.fast), 'screen', WERE)} answered in less than {too_fast_s:g} s."
        )
    if overview.set_aside:
        said.append(f"{count_text(len(overview.set_aside), 'task', WERE)} set aside.")
    if overview.withdrawn:
        said.append(f"{overview.withdrawn} withdrew; what they did is erased.")
    sections = [
        ReportSection(name=title, title=title, blocks=[Table(columns=lambda _, of=columns: of)])  # type: ignore[misc]
        for title, columns in tables.items()
    ]
    print_document(
        ReportDocument(
            title=name, sections=[*sections, ReportSection(name="notes", blocks=[PlainLines(said)])]
        ),
        open_console(),
    )


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


@study.command(cls=Verb)
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


@study.command(cls=Verb)
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
    port: PortOption = 8770,
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


study.command(cls=Verb)(status)


@study.command(cls=Verb)
def serve(
    path: StudyArgument = Path(),
    db: DbOption = None,
    port: PortOption = 8770,
    host: HostOption = "127.0.0.1",
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
    from replay.core.safety.consent import code_may_run
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


@study.command(cls=Verb)
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
