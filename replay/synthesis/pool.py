"""All that can be asked of documents, after what is asked badly is left out, each reason counted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from replay.core.conversation import Passage
from replay.datasets.near_duplicates import duplicate_texts
from replay.synthesis.documents.document import (
    SourceDocument,
    SourceList,
    SourceParagraph,
    SourceSection,
    SourceSentence,
    SourceTable,
    paragraphs_of,
)
from replay.synthesis.questions.blocks import (
    facts_of_comparison,
    facts_of_heading,
    facts_of_list,
    facts_of_table,
)
from replay.synthesis.questions.faults import fault_of
from replay.synthesis.questions.phrases import VAGUE
from replay.synthesis.questions.question import DocumentFact
from replay.synthesis.questions.sentences import facts_of
from replay.synthesis.questions.settings import SiteOutline, outline_of, settings_of
from replay.synthesis.questions.words import Vocabulary, vocabulary

_BROAD = frozenset({"definition", "effect", "object"})
"""What is asked of no product: each of its pages says something else of it."""
_SUPPOSES = re.compile(
    r"\b(?:if|when|whether|either|may|might|could|suppose|assum\w+|such as|causes?|scenarios?|examples?"
    r"|reasons?|symptoms?|criteria|signs?|problems?|cases?|restrictions?|so that)\b",
    re.IGNORECASE,
)
"""What opens a list of things that may be so, and needn't."""
_OF_ITS_TIME = re.compile(
    r"\b(?:change ?log|(?:release|version) (?:notes|history)|what's new|examples?|case study)\b"
    r"|(?:^|/ )v?\d+\.\d[\w.]*(?: |$)"
    r"|\brubric\b|\bcheck ?lists?\b|\bdefinition of done\b"
    r"|\b(?:judging|scoring|evaluation|selection) criteria\b|\d ?(?:percent|%|points)$",
    re.IGNORECASE,
)
"""What stands over changes of a version, which were true on its day, over things made up, and over what
somebody is to be judged by."""
_FIRST_STEP = re.compile(r"(?:First|Start|Begin)\b")
_NEXT_STEP = re.compile(r"(?:Then|Next|Now|After (?:that|this)|Afterwards|Finally|Once)\b")
SHARED_BY, LEAST_DOCUMENTS = 0.08, 3
"""The share and number of documents from which on "the hub" needs no telling."""
FEW_DOCUMENTS = 10
"""With fewer, what a document's headings name needs no telling either."""
_DEFINITE = re.compile(r"\bthe ([a-z]{3,})\b")
MOST_TOLD = 4
"""Questions about one thing, up to which "What does it do?" asks for something in particular."""
SMALLEST_PASSAGE = 3
"""Sentences, items and cells that a section must have to be asked about."""


NEIGHBOURS = 1
"""Sections to either side of those that answer, which a conversation has among its passages too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Documents of one folder that conversations go through: one, or several small ones."""

    sections: tuple[SourceSection, ...]
    titles: tuple[str, ...]
    """Of each section's document."""
    facts: tuple[DocumentFact, ...]
    """In the order of their answers, at most one a kind for each sentence."""


def with_neighbours(
    sections: Sequence[SourceSection], chosen: Iterable[SourceSection]
) -> list[SourceSection]:
    """Return those of *sections* that are *chosen* or stand beside one that is, in order."""
    ids = {section.id for section in chosen}
    at = [i for i, section in enumerate(sections) if section.id in ids]
    shown = {i + step for i in at for step in range(-NEIGHBOURS, NEIGHBOURS + 1)}
    return [section for i, section in enumerate(sections) if i in shown and section.text]


def passage_of(section: SourceSection) -> Passage:
    """Return *section* as a passage."""
    return Passage(id=section.id, text=section.text, title=" > ".join(section.headings))


@dataclass(slots=True, kw_only=True)
class Pool:
    """What documents carry."""

    areas: list[Area] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    """Questions and passages that were left out, by reason."""
    sections: int = 0


def pool_of(documents: Iterable[SourceDocument], *, least: int) -> Pool:
    """Return the areas of *documents*, each with at least *least* answers where its folder has as many."""
    pool = Pool()
    asked: dict[str, list[DocumentFact]] = defaultdict(list)
    of_folder: dict[str, list[tuple[SourceDocument, list[DocumentFact]]]] = defaultdict(list)
    every = list(documents)
    shared, outline = _shared_nouns(every), outline_of(every)
    for document in every:
        pool.sections += len(document.sections)
        headed = (
            () if len(every) >= FEW_DOCUMENTS else tuple(h for one in document.sections for h in one.headings)
        )
        sentences = (one for section in document.sections for one in section.sentences)
        known = vocabulary((document.title, *headed), sentences, shared)
        found = list(_facts_of_document(document, known, pool.rejected, outline))
        for fact in found:
            asked[_normal(fact.standalone)].append(fact)
        of_folder[str(PurePath(document.path).parent)].append((document, found))
    _ask_for_more(asked, of_folder)
    ambiguous = {
        id(fact) for same in asked.values() if len({fact.answers[0] for fact in same}) > 1 for fact in same
    }
    repeated: set[int] = set()
    single: list[DocumentFact] = []
    said: set[str] = set()
    for fact in (fact for same in asked.values() for fact in same if id(fact) not in ambiguous):
        # A page that says what another one does is asked nothing either.
        keys = {_normal(fact.standalone), _normal(f"{fact.question} {fact.answers[0]}")}
        if keys & said:
            repeated.add(id(fact))
        else:
            single.append(fact)
        said |= keys
    # "What does the server do?" asks nothing in particular where much is said of the server.
    told = Counter(fact.topic.key for fact in single if fact.topic is not None)
    broad = {
        id(fact)
        for fact in single
        if fact.kind in ("effect", "object") and fact.topic is not None and told[fact.topic.key] > MOST_TOLD
    }
    near = {id(single[at]) for at in _near_duplicates(single)}
    pool.rejected["the same question has other answers elsewhere"] += len(ambiguous)
    pool.rejected["asked before"] += len(repeated)
    pool.rejected["nearly the same as another"] += len(near)
    pool.rejected["too broad"] += len(broad)
    left_out = ambiguous | repeated | near | broad
    for folder in of_folder.values():
        pool.areas += _areas(folder, left_out, least)
    return pool


def _ask_for_more(
    asked: dict[str, list[DocumentFact]],
    of_folder: Mapping[str, Sequence[tuple[SourceDocument, list[DocumentFact]]]],
) -> None:
    """Have the second of two answers to "What does the agent do?" asked for by "What else does it do?"."""
    renewed: dict[int, DocumentFact] = {}
    for key, same in [*asked.items()]:
        first, *others = same
        if len(others) != 1 or first.kind != "effect" or not first.act:
            continue
        topic, lead = others[0].topic, f"Besides {first.act}, "
        is_more = others[0].section is first.section and others[0].start > first.start
        if topic is None or not is_more or others[0].answers[0] == first.answers[0]:
            continue
        more = replace(
            others[0],
            question=lead + first.question[:1].lower() + first.question[1:],
            topic=replace(topic, start=topic.start + len(lead)),
            frame="", filler="", more_of=first.question,
        )  # fmt: skip
        renewed[id(others[0])] = more
        asked[key] = [first]
        asked[_normal(more.standalone)].append(more)
    for documents in of_folder.values():
        for _, found in documents:
            found[:] = [renewed.get(id(fact), fact) for fact in found]


def _areas(
    folder: Sequence[tuple[SourceDocument, list[DocumentFact]]], left_out: set[int], least: int
) -> Iterator[Area]:
    """Yield the areas of one folder: a document with enough answers, or neighbours that have them."""
    sections: list[SourceSection] = []
    titles: list[str] = []
    facts: list[DocumentFact] = []
    for document, found in folder:
        kept = [fact for fact in found if id(fact) not in left_out]
        if not kept:
            continue
        sections += document.sections
        titles += [document.title] * len(document.sections)
        facts += kept
        if len({(fact.section.id, fact.start) for fact in facts}) >= least:
            yield Area(sections=tuple(sections), titles=tuple(titles), facts=tuple(facts))
            sections, titles, facts = [], [], []
    if facts:
        yield Area(sections=tuple(sections), titles=tuple(titles), facts=tuple(facts))


def _shared_nouns(documents: Sequence[SourceDocument]) -> frozenset[str]:
    """Return the nouns that many documents speak of with "the": their product has one of it."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update({noun for section in document.sections for noun in _DEFINITE.findall(section.text)})
    least = max(LEAST_DOCUMENTS, SHARED_BY * len(documents))
    return frozenset(noun for noun, count in counts.items() if count >= least and noun not in VAGUE)


def _facts_of_document(
    document: SourceDocument, known: Vocabulary, rejected: Counter[str], outline: SiteOutline
) -> Iterator[DocumentFact]:
    for section in document.sections:
        if _size(section) < SMALLEST_PASSAGE:
            rejected["passage too thin"] += 1
            continue
        if _OF_ITS_TIME.search(" / ".join((document.title, *section.headings))):
            rejected["tells what changed, an example, or how to judge"] += 1
            continue
        for bare in _facts_of_section(section, known):
            settings = settings_of(bare, document.title, document.path, outline)
            fact = replace(bare, settings=settings or ())
            product = outline.products[document.path]
            is_broad = fact.kind in _BROAD and fact.topic is not None and fact.topic.text == product
            if settings is None:
                reason = "nothing tells what it is about"
            else:
                reason = "too broad" if is_broad else fault_of(fact)
            if reason:
                rejected[reason] += 1
            else:
                yield fact


def _facts_of_section(section: SourceSection, known: Vocabulary) -> Iterator[DocumentFact]:
    first = section.blocks[0] if section.blocks else None
    if isinstance(first, SourceParagraph):
        yield from facts_of_heading(section, [first])
    before: SourceSentence | None = None
    for block in section.blocks:
        if isinstance(block, SourceTable):
            yield from facts_of_table(section, block)
            yield from facts_of_comparison(section, block)
            before = None
            continue
        if isinstance(block, SourceList):
            yield from facts_of_list(section, before, block, known)
        lead = " ".join((before.text if before is not None else "", *section.headings[-1:]))
        supposes = isinstance(block, SourceList) and _SUPPOSES.search(lead) is not None
        for paragraph in paragraphs_of(block):
            last: SourceSentence | None = None
            for at, sentence in enumerate(paragraph.sentences):
                goes_on = any(_NEXT_STEP.match(one.text) for one in paragraph.sentences[at + 1 : at + 3])
                is_step_of_several = goes_on or _FIRST_STEP.match(sentence.text) is not None
                for fact in facts_of(section, sentence, known, last):
                    if fact.kind == "procedure":
                        is_whole = not is_step_of_several
                    else:
                        is_whole = not supposes or fact.kind == "condition"
                    if is_whole:
                        yield fact
                last = sentence
        before = block.sentences[-1] if isinstance(block, SourceParagraph) else None


def _size(section: SourceSection) -> int:
    size = 0
    for block in section.blocks:
        if isinstance(block, SourceParagraph):
            size += len(block.sentences)
        elif isinstance(block, SourceList):
            size += len(block.items)
        else:
            size += len(block.rows) * (len(block.header) - 1)
    return size


def _near_duplicates(facts: Sequence[DocumentFact]) -> Iterator[int]:
    """Yield which of *facts* nearly repeat an earlier one that stands elsewhere."""
    texts = [f"{fact.question}\n{fact.answers[0]}" for fact in facts]
    for at, first in duplicate_texts(texts).items():
        one, other = facts[at], facts[first]
        if (one.section.id, one.start) != (other.section.id, other.start):
            yield at


def _normal(question: str) -> str:
    return " ".join(re.findall(r"\w+", question.lower()))
