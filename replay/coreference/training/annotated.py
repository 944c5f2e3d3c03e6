"""
What people annotated: questions with their recorded history and a human rewrite, from any data set that has
both; and dialogues with a second, partly wrong set of answers, and people's word on what that does to each
question.

What the learned resolver is trained on and measured with. The questions are aligned with a rewrite that needs
no history (CANARD, CAsT, iKAT); what stands in a mention's place is its right reading. The dialogues' format
is that of ``benchmarks/history-drift`` (see its README); ``tests/coreference/dialogues`` holds older ones
without standalone questions and spans. What is never trained on is held out by article, dialog or topic, and
so the same in every process and version.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import decode_as
from replay.core.drift_evidence import Mention
from replay.core.errors import DatasetError
from replay.core.history import Exchange
from replay.coreference.reading.mentions import PRONOUN_KINDS, find_mentions
from replay.coreference.reading.resolver import Document, document_of
from replay.coreference.reading.words import content_words, tokens
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
    titles = {group: title for group, said in votes.items() if (title := _winning_text(said))}
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


def _winning_text(votes: Counter[str]) -> str:
    """Return the text with most votes, the longest of several; empty below two votes."""
    ranked = sorted(votes.items(), key=lambda vote: (-vote[1], -len(vote[0]), vote[0]))
    return ranked[0][0] if ranked and ranked[0][1] > 1 else ""


SHARES = {"qrecc_a": 8, "gecor_a": 8, "pacific_a": 8, "canard_train": 40}
"""One group in so many is held out; of the small files one in four."""


def is_held_out(example: Example) -> bool:
    """Return whether *example* is never trained on."""
    return hashlib.sha256(example.group.encode()).digest()[0] % SHARES.get(example.source, 4) == 0


def is_for_decisions(example: Example) -> bool:
    """Return whether *example*, held out, is in the third that fits the last two decisions."""
    return hashlib.sha256(b"decisions" + example.group.encode()).digest()[0] % 3 == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RightReading:
    """What people put in a mention's place."""

    status: Literal["resolved", "left", "undecided"]
    """``left``: nothing in the question was changed. ``undecided``: the alignment doesn't tell."""
    words: tuple[str, ...] = ()


def right_readings(question: str, rewritten: str, mentions: Sequence[Mention]) -> list[RightReading]:
    """
    Return the right reading of each mention, taken from the text that replaces it in the human rewrite.

    That of an ellipsis are the words that people added and that stand in no other mention's place.
    """
    old, new = tokens(question), tokens(rewritten)
    matcher = SequenceMatcher(None, [t.normal for t in old], [t.normal for t in new], autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    in_question = set(content_words(question))
    readings = []
    placed: set[int] = set()
    for mention in mentions:
        if mention.kind == "ellipsis":
            break
        place = [i for i, t in enumerate(old) if mention.start <= t.start and t.end <= mention.end]
        first, end = place[0], place[-1] + 1
        put: list[str] = []
        touched = False
        for number, (_, a, b, c, d) in enumerate(edits):
            replaced = a < end and b > first
            # "the album" -> "the album X" adds words behind or inside a mention that has a noun
            added = a == b and (a == end or first < a <= end) and mention.kind not in PRONOUN_KINDS
            if replaced or added:
                touched = True
                placed.add(number)
                put += [word for t in new[c:d] for word in content_words(t.text)]
        if not touched:
            readings.append(RightReading(status="left"))
            continue
        if mention.kind != "this-noun":
            put = [word for word in put if word not in in_question]
        readings.append(RightReading(status="resolved" if put else "undecided", words=tuple(put)))
    if any(reading.status == "resolved" for reading in readings):
        # People name each thing once, so a pronoun left as it was tells nothing then.
        readings = [RightReading(status="undecided") if r.status == "left" else r for r in readings]
    if len(readings) < len(mentions):
        put = [
            word
            for number, (_, _, _, c, d) in enumerate(edits)
            if number not in placed
            for t in new[c:d]
            for word in content_words(t.text)
            if word not in in_question
        ]
        readings.append(RightReading(status="resolved" if put else "left", words=tuple(put)))
    return readings


WINDOW = 6


class _DialogueTurn(msgspec.Struct):
    question: str
    gold_answer: str
    own_answer: str
    means_the_same: bool | None
    rewrite_names: list[str] | None
    refers_by: str | None
    standalone: str | None = None
    leans_on: list[str] = []
    leans_on_own: list[str] = []


class _Dialogue(msgspec.Struct):
    id: str
    turns: list[_DialogueTurn]
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedTurn:
    """One question after the recorded and after the other answers."""

    dialog: str
    held_out: bool
    """Whether its dialogue stands at an odd position of its file."""
    kind: str
    gold: Document
    own: Document
    same: bool | None
    """Whether it means the same; None where people disagree."""
    names: tuple[str, ...]
    """A right rewrite contains one of them; empty where the question means the same."""
    refers_by: str
    standalone: str | None
    leans_on: tuple[str, ...]
    """What it leans on in the recorded history, to the letter."""
    leans_on_own: tuple[str, ...]


def read_dialogues(paths: Sequence[Path]) -> list[AnnotatedTurn]:
    """
    Return the questions of all files but each dialogue's first.

    Raises:
        DatasetError: A file isn't in the format.
    """
    found = []
    for path in paths:
        try:
            dialogues = decode_as(path.read_bytes(), list[_Dialogue])
        except (OSError, msgspec.MsgspecError) as error:
            raise DatasetError(str(error), path=str(path)) from error
        for position, dialogue in enumerate(dialogues):
            for number, turn in enumerate(dialogue.turns):
                if number == 0:
                    continue
                before = dialogue.turns[max(0, number - WINDOW) : number]
                found.append(
                    AnnotatedTurn(
                        dialog=dialogue.id,
                        held_out=position % 2 == 1,
                        kind=dialogue.kind,
                        gold=_document(turn, [(t.question, t.gold_answer) for t in before]),
                        own=_document(turn, [(t.question, t.own_answer) for t in before]),
                        same=turn.means_the_same,
                        names=tuple(turn.rewrite_names or ()),
                        refers_by=turn.refers_by or "",
                        standalone=turn.standalone,
                        leans_on=tuple(turn.leans_on),
                        leans_on_own=tuple(turn.leans_on_own),
                    )
                )
    return found


def _document(turn: _DialogueTurn, before: Sequence[tuple[str, str]]) -> Document:
    return Document(question=turn.question, turns=tuple(Exchange(question=q, answer=a) for q, a in before))
