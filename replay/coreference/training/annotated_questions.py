"""
Questions with their recorded history and a human rewrite, from any data set that has both.

What the learned resolver is trained on and measured with.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from replay.core.conversation import Conversation
from replay.core.history import Exchange
from replay.coreference.reading.mentions import PRONOUN_KINDS, find_mentions
from replay.coreference.reading.resolver import Document, document_of
from replay.datasets.loading import read_conversations


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question in its gold history, with the human rewrite."""

    dialog: str
    group: str
    """What it is about (an article, a topic): never on both sides of a split."""
    document: Document
    rewrite: str
    source: str = ""
    """The file it comes from, without its folder and ending."""


def read_examples(paths: Sequence[Path]) -> list[Example]:
    """
    Return the questions with a rewrite in all files, with the whole history before each.

    Questions that several paths through one conversation share (CAsT 2022) are taken once.

    Raises:
        DatasetError: a file can't be read.
    """
    found: dict[tuple[str, Document], Example] = {}
    for path in paths:
        for conversation in read_conversations([path], reader=None, on_bad=None, limit=None):
            group = _group(conversation)
            turns: list[Exchange] = []
            for number, turn in enumerate(conversation.turns):
                rewrite = _rewrite(conversation, number)
                if rewrite:
                    document = document_of(
                        conversation, turn.question, turns, window=len(turns), background=True
                    )
                    example = Example(
                        dialog=conversation.id,
                        group=group,
                        document=document,
                        rewrite=rewrite,
                        source=path.stem,
                    )
                    found.setdefault((group, document), example)
                turns.append(Exchange(question=turn.question, answer=turn.gold_answer or ""))
    return list(found.values())


_SETTING = re.compile(r"About [^:?]{1,160}: ")
"""How ``replay synthesize`` names the page and heading of a question."""


def _rewrite(conversation: Conversation, number: int) -> str:
    """
    Return the standalone form of a turn; in conversations made from documents, of what the question shows.

    Nobody can tell by such a question that its page is left out, so that isn't learned.
    """
    turn = conversation.turns[number]
    made = conversation.metadata.get("synthesized")
    if made is None or not turn.standalone:
        return turn.standalone or ""
    if all(reference["way"] == "setting" for reference in made[number].get("references", ())):
        return turn.question
    named = _SETTING.match(turn.question)
    rest = _SETTING.sub("", turn.standalone, count=1)
    return named[0] + rest if named else rest[:1].upper() + rest[1:]


_QUAC_DIALOG = re.compile(r"(C_[0-9a-f]{32})_\d+")


def _group(conversation: Conversation) -> str:
    """Return the subject of *conversation*: its topic or title; QuAC's passage; else its first question."""
    topic = conversation.metadata.get("topic")
    if topic is not None:
        return f"topic {topic}"
    if title := conversation.title.strip().lower():
        return title
    if passage := _QUAC_DIALOG.fullmatch(conversation.id):
        return passage[1]
    return conversation.turns[0].question.strip().lower()


def with_titles(examples: Sequence[Example]) -> list[Example]:
    """
    Return *examples*, adding a title where it is missing and their rewrites agree on one.

    What people put for "he", "she", "they" and "it" in at least two questions of one article, and more often
    than anything else, is what the article is about. CANARD's training half is to be had without titles,
    and would teach that titles don't matter.
    """
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        if not example.document.title:
            votes[example.group].update(_put_for_pronouns(example))
    titles = {group: title for group, said in votes.items() if (title := _elected(said))}
    return [
        replace(e, document=replace(e.document, title=titles[e.group]))
        if not e.document.title and e.group in titles
        else e
        for e in examples
    ]


def _put_for_pronouns(example: Example) -> Iterable[str]:
    question, rewrite = example.document.question, example.rewrite
    for mention in find_mentions(question):
        before, after = question[: mention.start].lower(), question[mention.end :].lower().rstrip(" ?.")
        said = rewrite.lower()
        if mention.kind in PRONOUN_KINDS and said.startswith(before) and said.rstrip(" ?.").endswith(after):
            put = rewrite[len(before) : len(rewrite.rstrip(" ?.")) - len(after)].strip()
            put = re.sub(r"['’]s?$", "", put)
            if put[:1].isupper() and len(put.split()) <= 6:
                yield put


def _elected(votes: Counter[str]) -> str:
    """Return the text with most votes, the longest of several; empty below two votes."""
    ranked = sorted(votes.items(), key=lambda vote: (-vote[1], -len(vote[0]), vote[0]))
    return ranked[0][0] if ranked and ranked[0][1] > 1 else ""
