"""
The figures of one data set, or of two side by side, as a document and drawn.

And on a card beside a data set that was made: what is in it, what was left out, and how to make it again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.core.conversation import Conversation
from replay.core.errors import writing
from replay.coreference.reading.resolver import Resolver
from replay.report.document import (
    Cases,
    CaseText,
    ItemList,
    Name,
    Pairs,
    Paragraph,
    ReportDocument,
    ReportSection,
    Table,
    notes_section,
)
from replay.report.drawing import COLOURS, DASHES, MARKERS, WIDTHS_IN, Width, new_figure, plain
from replay.report.markdown import document_markdown
from replay.report.printing import NONE, TextColumn, column
from replay.synthesis.data_statistics import (
    REFERENCES,
    DataStatistics,
    LengthSummary,
    Proportion,
    data_statistics,
)
from replay.synthesis.question_kinds import QUESTION_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


_DEEPEST = 12


def data_figure(data: Sequence[DataStatistics], width: Width) -> Figure:
    """Return a figure of the question words' shares, the shares of kinds, and turns and leaning by depth."""
    across = width == "page"
    figure = new_figure(WIDTHS_IN[width], 2.6 if across else 6.6)
    panels = figure.subplots(1, 3) if across else figure.subplots(3, 1)
    asked = [word for word in QUESTION_WORDS if any(word in one.question_words for one in data)]
    _draw_bars(
        panels[0],
        "questions (%)",
        asked,
        [[100 * one.question_words.get(word, 0) / max(1, one.turns) for word in asked] for one in data],
    )
    _draw_bars(
        panels[1], "share (%)", _DRAWN_KINDS, [[_drawn_share(found) for found in _kinds(one)] for one in data]
    )
    _draw_depths(panels[2], data)
    figure.legend(
        *panels[2].get_legend_handles_labels(), loc="outside lower center", ncols=2 if across else 1
    )
    return figure


_DRAWN_KINDS = ("leaning", "anaphora", "ellipsis", "other passage", "yes/no", "unanswerable", "duplicates")


def _kinds(data: DataStatistics) -> Sequence[Proportion | None]:
    return (
        data.leaning, data.anaphora, data.ellipsis, data.topic_shifts, data.yes_no, data.unanswerable,
        data.duplicates,
    )  # fmt: skip


def _drawn_share(found: Proportion | None) -> float:
    return 100 * (found.share or 0.0) if found else 0.0


def _draw_bars(axes: Axes, label: str, names: Sequence[str], shares: Sequence[Sequence[float]]) -> None:
    thickness = 0.8 / len(shares)
    for number, values in enumerate(shares):
        places = [at - 0.4 + (number + 0.5) * thickness for at in range(len(names))]
        axes.barh(places, values, height=thickness, color=COLOURS[number % len(COLOURS)])
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(label)


def _draw_depths(axes: Axes, data: Sequence[DataStatistics]) -> None:
    from matplotlib.ticker import MaxNLocator

    for number, one in enumerate(data):
        rows = [row for row in one.depths if row.depth <= _DEEPEST]
        first = rows[0].turns if rows else 1
        axes.plot(
            [row.depth for row in rows],
            [100 * row.turns / first for row in rows],
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)],
            label=plain(one.name),
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("depth")
    axes.set_ylabel("conversations that reach it (%)")
    axes.set_ylim(bottom=0)


EXAMPLES = 3
"""Conversations that are shown."""
MOST_FILES = 20
"""Files that are named; of more, the number."""
LICENCE = (
    "The answers and passages are the documents' own words, so the documents' licence holds for this data "
    "set too: name their source, and look whether it may be passed on, before you publish it."
)


def write_card(
    path: Path,
    conversations: Sequence[Conversation],
    rejected: Counter[str],
    settings: Mapping[str, Any],
    *,
    sources: Sequence[str],
    signature: str,
    references: Counter[str] | None = None,
    unread: Sequence[str] = (),
    licence: str = LICENCE,
    resolver: Resolver | None = None,
) -> DataStatistics:
    """
    Write the card of *conversations* to *path*, as Markdown; returns the figures in it.

    Equal arguments write equal bytes.

    Args:
        path: Where to, such as ``conversations.card.md``.
        conversations: The data set.
        rejected: What was left out, by reason.
        settings: All with which it was made, seeds among them; JSON values.
        sources: The documents' paths.
        signature: Hash of settings and documents.
        references: How often a resolver found what was meant, by kind and outcome.
        unread: Why files could not be used, a sentence each.
        licence: What to know before passing the data on.
        resolver: Says what leans on what, where the data has no standalone questions.

    Raises:
        InputError: *path* can't be written.
    """
    data = data_statistics(path.name.removesuffix(".card.md"), conversations, resolver=resolver)
    made = {"signature": signature, "settings": json.dumps(settings, sort_keys=True, ensure_ascii=False)}
    sections = [
        ReportSection(name="made", title="How it was made", blocks=[Pairs(made)]),
        ReportSection(name="licence", title="Licence", blocks=[Paragraph([licence])]),
        *data_sections([data]),
    ]
    if references:
        sections.append(_counts("references", "References", references))
    if rejected:
        sections.append(_counts("rejected", "Left out, by reason", rejected))
    named = [
        *sources[:MOST_FILES],
        *([f"and {len(sources) - MOST_FILES:,} more"] if len(sources) > MOST_FILES else []),
    ]
    sections.append(
        ReportSection(name="sources", title=f"Documents ({len(sources):,})", blocks=[ItemList(named)])
    )
    if unread:
        title = f"Files that could not be used ({len(unread):,})"
        sections.append(ReportSection(name="unread", title=title, blocks=[ItemList(unread[:MOST_FILES])]))
    sections.append(ReportSection(name="examples", title="Examples", blocks=[_examples(conversations)]))
    document = ReportDocument(
        title=f"{data.name}: {data.conversations:,} conversations from {len(sources):,} documents",
        sections=[*sections, notes_section(data_notes([data]))],
    )
    with writing(path):
        path.write_text(document_markdown(document) + "\n", "utf-8")
    return data


def _counts(name: str, title: str, counts: Counter[str]) -> ReportSection:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    columns = [
        column(title, [reason for reason, _ in ordered], left=True),
        column("figures", [f"{count:,}" for _, count in ordered]),
    ]
    return ReportSection(name=name, blocks=[Table(columns=lambda _: columns)])


def _examples(conversations: Sequence[Conversation]) -> Cases:
    """Return conversations spread over the whole set."""
    step = max(1, len(conversations) // EXAMPLES)
    cases = []
    for one in conversations[::step][:EXAMPLES]:
        texts: list[tuple[str, str | None]] = []
        for turn in one.turns:
            leans = turn.standalone is not None and turn.standalone != turn.question
            texts += [("question", turn.question), *([("means", turn.standalone)] if leans else [])]
            texts.append(("answer", turn.gold_answer))
        cases.append(CaseText(title=f"{one.id}: {one.title}" if one.title else one.id, texts=texts))
    return Cases(cases)
