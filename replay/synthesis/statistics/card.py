"""A card beside a data set that was made: what is in it, what was left out, and how to make it again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation
from replay.core.errors import writing
from replay.coreference.reading.resolver import Resolver
from replay.report.document import (
    Cases,
    CaseText,
    ItemList,
    Pairs,
    Paragraph,
    ReportDocument,
    ReportSection,
    Table,
    notes_section,
)
from replay.report.markdown import document_markdown
from replay.report.printing import column
from replay.synthesis.statistics.data_document import data_notes, data_sections
from replay.synthesis.statistics.data_statistics import DataStatistics, data_statistics

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
