"""The figures of one data set, or of two side by side, as a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replay.report.document import Name, ReportDocument, ReportSection, Table, notes_section
from replay.report.printing import NONE, TextColumn, column
from replay.synthesis.statistics.data_statistics import (
    REFERENCES,
    DataStatistics,
    LengthSummary,
    Proportion,
)
from replay.synthesis.statistics.question_kinds import QUESTION_WORDS

MOST_DEPTHS = 15
"""Depths that have a row; deeper ones are counted in a note."""
_FOLLOW_UPS = "Follow-ups are the questions after a conversation's first."
_REFERENCES_NOTE = (
    "Anaphora and ellipsis are told by the words alone: they may refer to something within the question. "
    "What leans can't be understood without what was said before, so that a wrong answer there can change it."
)
_DUPLICATES_NOTE = (
    "Near-duplicates: question and answer share at least 80 % of their words, pairs and triples."
)


def data_document(data: Sequence[DataStatistics]) -> ReportDocument:
    """Return the figures of each of *data*, a column each."""
    title = ("Data set ", Name(data[0].name)) if len(data) == 1 else "Data sets side by side"
    return ReportDocument(title=title, sections=[*data_sections(data), notes_section(data_notes(data))])


def data_sections(data: Sequence[DataStatistics]) -> list[ReportSection]:
    """Return the tables."""
    asked = [word for word in QUESTION_WORDS if any(word in one.question_words for one in data)]
    return [
        _table("size", "Size", data, _SIZE),
        _table("kinds", "Kinds of questions", data, _KINDS),
        _table("question words", "Question words", data, [(word, _asked_with(word)) for word in asked]),
        *(_depths(one, len(data) > 1) for one in data),
    ]


_Rows = Sequence[tuple[str, Callable[[DataStatistics], str]]]


def _table(name: str, title: str, data: Sequence[DataStatistics], rows: _Rows) -> ReportSection:
    columns = [
        column(title, [label for label, _ in rows], left=True),
        *(column(one.name if len(data) > 1 else "figures", [show(one) for _, show in rows]) for one in data),
    ]
    return ReportSection(name=name, blocks=[Table(columns=lambda _: columns)])


def _share(found: Proportion | None) -> str:
    """Return a share in per cent, and of how many it is."""
    return NONE if found is None or found.share is None else f"{100 * found.share:.1f} % of {found.of:,}"


def _length(found: LengthSummary) -> str:
    return f"{found.mean:.1f}/{found.median:g}/{found.p90:g}"


def _leaning_on_nothing(data: DataStatistics) -> str:
    found = data.leaning
    return _share(found and Proportion(count=found.of - found.count, of=found.of))


_SIZE: _Rows = (
    ("conversations", lambda data: f"{data.conversations:,}"),
    ("turns", lambda data: f"{data.turns:,}"),
    ("turns of a conversation", lambda data: f"{data.turns / max(1, data.conversations):.1f}"),
    ("passages", lambda data: f"{data.passages:,}"),
    ("words of questions: mean/median/90 %", lambda data: _length(data.question_length)),
    ("words of answers: mean/median/90 %", lambda data: _length(data.answer_length)),
    ("turns without a gold answer", lambda data: _share(data.without_answer)),
    ("near-duplicates of earlier turns", lambda data: _share(data.duplicates)),
)


def _reference(label: str) -> Callable[[DataStatistics], str]:
    return lambda data: _share(data.references[label])


_KINDS: _Rows = (
    ("follow-ups that lean on what was said", lambda data: _share(data.leaning)),
    ("follow-ups that lean on nothing", _leaning_on_nothing),
    ("follow-ups with anaphora", lambda data: _share(data.anaphora)),
    *((f"  {label}", _reference(label)) for label in REFERENCES),
    ("fragments and questions for more", lambda data: _share(data.ellipsis)),
    ("follow-ups about another passage", lambda data: _share(data.topic_shifts)),
    ("questions for yes or no", lambda data: _share(data.yes_no)),
    ("answers with yes or no", lambda data: _share(data.answered_yes_no)),
    ("unanswerable questions", lambda data: _share(data.unanswerable)),
)


def _asked_with(word: str) -> Callable[[DataStatistics], str]:
    return lambda data: _share(Proportion(count=data.question_words.get(word, 0), of=data.turns))


def _depths(data: DataStatistics, named: bool) -> ReportSection:
    rows = data.depths[:MOST_DEPTHS]
    columns: list[TextColumn] = [
        column("depth", [str(row.depth) for row in rows]),
        column("turns", [f"{row.turns:,}" for row in rows]),
        column("words", [f"{row.question_words:.1f}" for row in rows]),
        column("anaphora %", [_percent(row.anaphora) for row in rows]),
        column("ellipsis %", [_percent(row.ellipsis) for row in rows]),
        column("leaning %", [_percent(row.leaning) for row in rows]),
    ]
    deeper = sum(row.turns for row in data.depths[MOST_DEPTHS:])
    remarks = [f"{deeper:,} turns of {data.name} are deeper than {MOST_DEPTHS}."] if deeper else []
    return ReportSection(
        name="depths",
        title=("By depth, ", Name(data.name)) if named else "By depth",
        blocks=[Table(columns=lambda _: columns)],
        remarks=remarks,
    )


def _percent(found: Proportion | None) -> str:
    return NONE if found is None or found.share is None else f"{100 * found.share:.1f}"


def data_notes(data: Sequence[DataStatistics]) -> list[str]:
    """Return how the figures came about."""
    said = [_FOLLOW_UPS, _REFERENCES_NOTE]
    for one in data:
        of = f" of {one.name}" if len(data) > 1 else ""
        said.append(f"Leaning{of}: {one.leaning_by}.")
        said += [f"{note[:1].upper()}{note[1:]}" for note in one.notes]
    if any(one.duplicates for one in data):
        said.append(_DUPLICATES_NOTE)
    if any(one.topic_shifts is None for one in data):
        said.append(
            "About another passage is unknown where no two turns in a row name a gold passage in common."
        )
    return said
