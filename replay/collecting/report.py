"""What was taken and why, what was dropped and why: as text and as Markdown, without personal data."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from replay.collecting.deidentify import ReplacedValue
from replay.collecting.patterns import KINDS
from replay.collecting.personal_data import PersonalDataRules
from replay.collecting.sampling import DEPTH_BANDS, CandidateConversation, TakenConversation, depth_band
from replay.core.conversation import Conversation
from replay.report.document import ItemList, Paragraph, ReportDocument, ReportSection, Table, notes_section
from replay.report.markdown import document_markdown
from replay.report.numbers import count_text
from replay.report.printing import VisibleConsole, column
from replay.report.text import print_titled

TEXT = "report.txt"
MARKDOWN = "report.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectSettings:
    """What is taken, and how."""

    limit: int = 50
    """Conversations at most."""
    seed: int = 0
    min_turns: int = 1
    read: int = 200
    """How many conversations are read for what their questions lean on."""
    any_language: bool = False
    skip_bad: bool = False
    rules: PersonalDataRules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedSuite:
    """What was made of logs."""

    folder: Path
    replaced_list: Path
    conversations: tuple[Conversation, ...]
    taken: tuple[TakenConversation, ...]
    """In the order of ``conversations``."""
    replaced: tuple[tuple[ReplacedValue, ...], ...]
    """Of each of them."""
    dropped: Counter[str]
    """How many were dropped, by reason."""
    depths: tuple[int, ...]
    """Turns of all conversations in the logs."""
    candidates: tuple[CandidateConversation, ...]
    """Those that differ, among which was chosen."""
    errors: tuple[str, ...]
    """Why conversations could not be read."""
    settings: CollectSettings


def write_report(suite: CollectedSuite) -> None:
    """
    Write both reports into the suite's folder.

    Raises:
        OSError: one can't be written.
    """
    document = suite_document(suite)
    stream = io.StringIO()
    print_titled(document, VisibleConsole(stream, plain=True))
    (suite.folder / TEXT).write_text(stream.getvalue(), "utf-8")
    (suite.folder / MARKDOWN).write_text(document_markdown(document), "utf-8")


def suite_document(suite: CollectedSuite) -> ReportDocument:
    """Return what was collected as a document."""
    read, taken = len(suite.depths), len(suite.taken)
    turns = sum(len(one.turns) for one in suite.conversations)
    were = "was" if taken == 1 else "were"
    with_turns = f"with {count_text(turns, 'turn')}; seed {suite.settings.seed}."
    lead = f"{taken:,} of {count_text(read, 'conversation')} {were} taken, {with_turns}"
    sections = [
        ReportSection(name="lead", blocks=[Paragraph([lead])]),
        ReportSection(name="depths", title="By depth", blocks=[_depths(suite)]),
        ReportSection(name="reasons", title="Why they were taken", blocks=[ItemList(_reasons(suite))]),
        ReportSection(name="taken", title="Taken", blocks=[_taken_table(suite)]),
    ]
    if suite.dropped:
        items = [f"{count:,}: {reason}" for reason, count in suite.dropped.most_common()]
        sections.append(ReportSection(name="dropped", title="Not taken", blocks=[ItemList(items)]))
    sections.append(
        ReportSection(
            name="replaced", title="Personal data that were replaced", blocks=[_replaced_table(suite)]
        )
    )
    return ReportDocument(title="From logs to a suite", sections=[*sections, notes_section(_notes(suite))])


def _depths(suite: CollectedSuite) -> Table:
    bands = [depth_band(low) for low, _ in DEPTH_BANDS]
    logged = Counter(map(depth_band, suite.depths))
    taken = Counter(depth_band(len(one.turns)) for one in suite.conversations)
    columns = [
        column("depth", bands, left=True),
        column("in the logs", (str(logged[band]) for band in bands)),
        column("taken", (str(taken[band]) for band in bands)),
    ]
    return Table(columns=lambda _: columns)


def _reasons(suite: CollectedSuite) -> list[str]:
    kinds = Counter(
        "a complaint"
        if one.why == one.candidate.complaint
        else "its depth"
        if one.why.startswith("its depth")
        else "questions that lean on earlier answers"
        for one in suite.taken
    )
    return [f"{count}: {reason}" for reason, count in kinds.most_common()]


def _taken_table(suite: CollectedSuite) -> Table:
    columns = [
        column("id", (one.id for one in suite.conversations), left=True),
        column("turns", (str(len(one.turns)) for one in suite.conversations)),
        column(
            "lean",
            (
                "-" if one.candidate.leaning is None else str(len(one.candidate.leaning))
                for one in suite.taken
            ),
        ),
        column("replaced", (str(sum(value.count for value in values)) for values in suite.replaced)),
        column("why", (one.why for one in suite.taken), left=True),
    ]
    return Table(columns=lambda _: columns, named=1)


def _replaced_table(suite: CollectedSuite) -> Table:
    values, times = Counter[str](), Counter[str]()
    for listed in suite.replaced:
        for one in listed:
            values[one.kind] += 1
            times[one.kind] += one.count
    kinds = [kind for kind in KINDS if values[kind]]
    columns = [
        column("kind", kinds, left=True),
        column("values", (str(values[kind]) for kind in kinds)),
        column("times", (str(times[kind]) for kind in kinds)),
    ]
    return Table(columns=lambda _: columns)


def _notes(suite: CollectedSuite) -> list[str]:
    read = sum(one.leaning is not None for one in suite.candidates)
    notes = [
        f"lean: questions that lean on an earlier answer, read in {read:,} of {len(suite.candidates):,} "
        "conversations that differ (more with --read).",
        "Nobody has looked yet whether something personal is left: replay collect --review does that.",
        "Ids, and recorded times by whole weeks, are not those of the logs.",
    ]
    if not any(one.passages for one in suite.conversations):
        notes.append(
            "The scenario's system answers from passages, and these conversations have none: name your own"
            " system in it."
        )
    return notes
