"""The questions that one sentence answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from replay.coreference.reading.words import word_set
from replay.synthesis.documents.document import SourceSection, SourceSentence
from replay.synthesis.questions.clauses import Clause, clause
from replay.synthesis.questions.phrases import (
    OBJECT_STARTS,
    is_doing,
    is_told_elsewhere,
    names_something,
    noun_phrase,
    wish_of,
)
from replay.synthesis.questions.predicates import Source, facts_of_clause
from replay.synthesis.questions.question import DocumentFact, QuestionTopic
from replay.synthesis.questions.words import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    LEANING,
    PREPOSITIONS,
    Vocabulary,
    in_first_person,
    leans,
    looks_plural,
    points,
    verb,
    words_of,
)

SHORTEST, LONGEST = 5, 45
"""Words of a sentence that is asked about."""

LONGEST_PLACED = 16
"""Words of a sentence whose opening ("On a disk, ...") a question ends with."""
LEAST_CONDITION = 4
"""Words of a condition that says enough: more than "you are unsure"."""

_OUT_OF_PLACE = re.compile(
    r"https?://|\b(?:above|below|as follows|following|see|refer to"
    r"|this (?:page|guide|section|document|tutorial|article|topic|chapter|example|table|release|post|site)"
    r"|for example|for instance|we|our|us|let's|e\.g|i\.e|todo|click here|(?:learn|read|find) more"
    r"|more information"
    r"|\w+ed in (?:the )?previous)\b|[{}<>|\\]|\.\.\.|…|\?|!$",
    re.IGNORECASE,
)
"""What an answer has that only its page can show, and what is no running text."""
_LEAD = re.compile(
    r"^(?:note(?: that|:)|additionally,|in addition,|also,|furthermore,|moreover,)\s+", re.IGNORECASE
)
_BY_DEFAULT = re.compile(r"^By default,? ")
_PLACED = re.compile(r"^(?P<said>(?:In|On|For|During|With|Within|Under) (?P<phrase>[^,.;:]{2,40})), (?=\w)")
_NO_PLACES = word_set(
    """
    fact general practice theory short particular addition contrast total summary case cases most turn
    response
    """
)
_CONDITION = re.compile(r"^(?P<word>If|When|Once) (?P<said>[^,;:()]{6,110}), (?:then )?(?P<main>[\w`].*)$")
_STATE = re.compile(
    r"you(?:'d| would)? (?:already |really |just )?(?:are|were|would|know|need|think|believe|want|prefer|wish"
    r"|like|feel|have (?:a|an|any|no|questions)|'re)\b|you're\b"
)
"""What "What happens if I ...?" is not asked of."""
_TWO_CLAUSES = re.compile(r" you (?:should|can|must|need|may|will)\b| and (?:are|were)\b")
_TWO_SUBJECTS = re.compile(
    r"you (?!are\b|were\b)"
    r"(?:(?! (?:that|which|who|whose|what|where|how|why|whether|if|when|and|or|because|as) ).)*"
    r" (?:is|are|was|were|has|will) "
)
"""A condition on what "you" do in which another clause begins without a word for it."""
_OUGHT = re.compile(r"(?:(?!(?:and|or|but|that|which|who) )[\w-]+ ){1,7}?(?:should|must) ")
_GOES_ON = re.compile(r"\b(?:still|again|previously|already|now|persists?|any(?:more| longer)|further)\b")
"""What a condition has that only stands after another one."""
_BEFORE_BASE = word_set(
    "to and or not you i we they people who can could will would must should may might do does did let"
)
_WANTS = re.compile(r"you(?:'d| would)? (?:want|need|wish|like) to (?P<what>.+)$")
_PURPOSE = re.compile(r"^(?:To|In order to) (?P<said>[^,;:()]{6,90}), (?P<main>[\w`].*)$")
_MEANS = re.compile(
    r"^(?:Use|Run|Set|Add|Enable|Specify|Call|Pass|Click|Select|Choose) (?!to |caution|the \w+ to )"
    r"(?:(?! (?:if|when|unless) )[^,;:()]){2,60}?"
    r" to (?P<said>[a-z][^,;:()]{5,80})\.$"
)
_LETS = re.compile(
    r"^(?P<subject>[^,;:()]{2,60}?) (?P<lets>lets?|allows?|enables?) you (?:to )?"
    r"(?P<said>[a-z][^,;:()]{5,90}?)[.,;:(]"
)
_DOING_FIRST = re.compile(r"^(?P<word>Before|After) (?P<said>[a-z]+ing [^,;:()]{3,80}), (?P<main>[\w`].*)$")
_EXPLETIVE = re.compile(
    r"It (?:is|was|'s|can be|may be|looks|seems|takes) (?:\w+ )?(?:to|that|possible|not)\b"
)
_JOINED = re.compile(r",? ?(?:and|or|but) (?:also |then )?")
_JOINT = re.compile(r",? ?(?:and|or|but)(?: also| then)? $")
"""What joins a second verb, at the end of what stands before it."""
_WHAT_I_DO = re.compile(r"\b(?:I|I'm) (?=[a-z])")
_BEFORE_MY_VERB = frozenset({"have", "need", "want", "to", "am"})


def facts_of(
    section: SourceSection, sentence: SourceSentence, known: Vocabulary, before: SourceSentence | None = None
) -> Iterator[DocumentFact]:
    """
    Yield what *sentence* answers, the surest first.

    An "It" or "They" that opens it is read as the subject of the sentence *before* it in the paragraph, where
    that one has no other thing to mean. A second verb is asked about by itself.
    """
    text = sentence.text
    if not SHORTEST <= len(text.split()) <= LONGEST or not text.endswith(".") or _OUT_OF_PLACE.search(text):
        return
    if not (text[:1].isupper() or any(start == 0 for start, _ in sentence.literals)):
        return
    read = sentence
    if text.startswith(("It ", "They ")):
        subject = _subject_meant(text, before, known)
        if subject is None:
            return
        read = _with_subject(subject, sentence, text.index(" "))
    second = list(_of_second_verb(section, sentence, read, known))
    whole = text[: second[0].start - sentence.start] if second else text
    answer = _JOINT.sub("", whole)
    for fact in _asked_of(section, read, known):
        yield replace(fact, answers=(answer, *fact.answers[1:]))
    yield from second


def _of_second_verb(
    section: SourceSection, sentence: SourceSentence, read: SourceSentence, known: Vocabulary
) -> Iterator[DocumentFact]:
    """Yield what a second verb of *sentence* says; *read* is the sentence with its subject named."""
    told = clause(read.text, words_of(read), known)
    if told is None or told.second < 0 or told.is_mine:
        return
    joined = _JOINED.match(read.text[told.second :])
    at = sentence.text.rfind(read.text[told.second :])
    if joined is None or at < 0:
        return
    second = _with_subject(told.subject, read, told.second + joined.end() - 1)
    at += joined.end()
    said = sentence.text[at:].removesuffix(".")
    for fact in _asked_of(section, second, known):
        if fact.topic is not None and len(said.split()) > 2:
            yield replace(fact, answers=(said, *fact.answers[1:]), start=sentence.start + at)


def _subject_meant(text: str, before: SourceSentence | None, known: Vocabulary) -> str | None:
    """Return what "It" or "They" at the start of *text* means, where *before* names one thing it can mean."""
    if before is None or _EXPLETIVE.match(text):
        return None
    told = clause(before.text, words_of(before), known)
    if told is None or told.is_mine or told.is_plural != text.startswith("They") or told.is_cut:
        return None
    if " of " in told.subject:
        return None
    if told.auxiliary not in BE:
        rest = words_of(SourceSentence(text=told.rest, start=0))
        for i, word in enumerate(rest):
            is_thing = word.low in DETERMINERS | {"its", "their"} and noun_phrase(rest, i) > i
            if is_thing or word.text[:1].isupper() or word.low.isdigit():
                return None
    return told.subject


def _with_subject(subject: str, sentence: SourceSentence, at: int) -> SourceSentence:
    """Return *sentence* from the offset *at* on, after *subject*."""
    shift = len(subject) - at
    moved = tuple((start + shift, end + shift) for start, end in sentence.literals if start >= at)
    opening = subject[:1].upper() + subject[1:] if subject.split()[0] in DETERMINERS else subject
    return replace(sentence, text=opening + sentence.text[at:], literals=moved)


def _asked_of(section: SourceSection, sentence: SourceSentence, known: Vocabulary) -> Iterator[DocumentFact]:
    for fact in _of_shape(sentence.text, Source(section=section, sentence=sentence), known):
        if not is_told_elsewhere(fact.question, known):
            yield fact if fact.topic is not None else replace(fact, topic=_topic_of_mine(fact.question))


def _of_shape(text: str, source: Source, known: Vocabulary) -> Iterator[DocumentFact]:
    """Yield what *text* answers, by what it opens with."""
    if (found := _CONDITION.match(text)) is not None:
        yield from _of_condition(found, known, source)
    elif (found := _PURPOSE.match(text) or _MEANS.match(text)) is not None:
        said = wish_of(found["said"])
        main = found.groupdict().get("main")
        if said is not None and (main is None or is_doing(main)):
            yield source.fact("procedure", f"How do I {said}?")
    elif (found := _DOING_FIRST.match(text)) is not None:
        if is_doing(found["main"]) and not points(found["said"]):
            said = in_first_person(found["said"])
            yield source.fact("procedure", f"What should I do {found['word'].lower()} {said}?")
    else:
        yield from _of_statement(text, source, known)


def _of_condition(found: re.Match[str], known: Vocabulary, source: Source) -> Iterator[DocumentFact]:
    said, word, main = found["said"], found["word"].lower(), found["main"]
    if (
        points(said)
        or main.split()[0] in AUXILIARIES
        or main.startswith(("it is recommended", "it's recommended", "it is best", "it's best"))
        or "you/" in said
        or _TWO_SUBJECTS.match(said)
        or _GOES_ON.search(said)
        or _lacks_a_comma(said)
    ):
        return
    if (wants := _WANTS.match(said)) is not None:
        goal = wish_of(wants["what"])
        if goal is not None and is_doing(main):
            yield source.fact("procedure", f"How do I {goal}?")
        return
    told = clause(said, words_of(SourceSentence(text=said, start=0)), known)
    is_mine = said.startswith("you ")
    if told is None and not is_mine:
        return
    does = is_doing(main)
    if not does and not _is_statement(main, known):
        return
    if not does and (_STATE.match(said) if is_mine else told is not None and _is_past_or_wish(told)):
        return
    asked = "should happen" if _OUGHT.match(main) else "happens"
    frame = f"What {'should I do' if does else asked} {word} {{}}?"
    condition = in_first_person(said)
    if is_mine and (len(condition.split()) < LEAST_CONDITION or _TWO_CLAUSES.search(said)):
        return
    question = frame.format(condition)
    topic = None
    if told is not None and not is_mine and told.subject in question:
        topic = QuestionTopic(text=told.subject, start=question.index(told.subject), is_plural=told.is_plural)
    yield source.fact("condition", question, frame=frame, filler=condition, topic=topic)


def _lacks_a_comma(said: str) -> bool:
    """Return whether an imperative seems to stand in *said*: "the meat is done pour the sauce"."""
    words = said.split()
    return any(
        verb(word, "base") is not None
        and after.lower() in DETERMINERS | {"my", "it"}
        and before.lower() not in _BEFORE_BASE
        and not before.endswith(("s", "n't"))
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def _is_statement(main: str, known: Vocabulary) -> bool:
    """Return whether *main* says what happens: a subject with its verb, and no imperative."""
    first, *others = words_of(SourceSentence(text=main, start=0))
    if first.low in LEANING | {"nothing", "you'll"}:
        return True
    if first.low in DETERMINERS:
        acts = OBJECT_STARTS | LEANING
        return any(
            word.low in AUXILIARIES or (verb(word.low, "third") and after.low in acts)
            for word, after in pairwise(others)
        )
    if first.is_adverb or first.low in CONJUNCTIONS | PREPOSITIONS or not others:
        return False
    if others[0].low in DETERMINERS | LEANING | {"up", "down", "out", "off", "back", "away"}:
        return False  # "braise the meat"
    return verb(first.low, "base") is None or clause(main, [first, *others], known) is not None


def _is_past_or_wish(told: Clause) -> bool:
    is_past = told.auxiliary in ("was", "were", "did", "would", "could", "might")
    return is_past or told.verb.split()[-1:] in (["need"], ["want"], ["wish"])


def _of_statement(text: str, source: Source, known: Vocabulary) -> Iterator[DocumentFact]:
    lead = _LEAD.match(text)
    at, tail = lead.end() if lead else 0, ""
    if (default := _BY_DEFAULT.match(text, at)) is not None:
        at, tail = default.end(), " by default"
    elif (placed := _PLACED.match(text, at)) is not None:
        phrase = placed["phrase"]
        if (
            phrase.split()[0].lower() in _NO_PLACES
            or points(phrase)
            or set(phrase.lower().split()) & BE
            or verb(phrase.split()[0].lower(), "gerund")
        ):
            return
        if len(text.split()) > LONGEST_PLACED:
            return
        at, tail = placed.end(), " " + in_first_person(placed["said"][:1].lower() + placed["said"][1:])
    words = words_of(source.sentence)
    start = next((i for i, word in enumerate(words) if word.start >= at), len(words))
    if start >= len(words) or words[start].low in LEANING:
        return
    if (lets := _LETS.match(text, at)) is not None and not tail:
        subject_words = [word for word in words[start:] if word.end <= lets.end("subject")]
        is_subject = 0 < len(subject_words) <= noun_phrase(words, start) - start
        if is_subject and not points(lets["said"]) and names_something(subject_words, known):
            does = "does" if lets["lets"].endswith("s") else "do"
            subject = known.lower(lets["subject"])
            topic = QuestionTopic(text=subject, start=len(f"What {does} "), is_plural=does == "do")
            yield source.fact("effect", f"What {does} {subject} let me do?", topic=topic)
        return
    told = clause(text, words, known, start)
    if told is None:
        return
    subject_words = [word for word in words[start:] if word.start < words[start].start + len(told.subject)]
    if told.is_mine or (not leans(subject_words) and names_something(subject_words, known)):
        yield from facts_of_clause(told, tail, source)


def _topic_of_mine(question: str) -> QuestionTopic | None:
    """Return what a question with "I" is about, its verb's object: "a node" of "Can I delete a node?"."""
    found = list(_WHAT_I_DO.finditer(question))
    if not found:
        return None
    words = words_of(SourceSentence(text=question[found[-1].end() :], start=0))
    at = 0
    while at < len(words) and (words[at].is_adverb or words[at].low in _BEFORE_MY_VERB):
        at += 1
    if at + 1 >= len(words) or not (verb(words[at].low, "base") or verb(words[at].low, "gerund")):
        return None
    end = noun_phrase(words, at + 1)
    if end == at + 1 or words[at + 1].low not in ("a", "an", "the", "your", "my"):
        return None
    if end < len(words) and words[end].low == "of":
        return None
    start, stop = found[-1].end() + words[at + 1].start, found[-1].end() + words[end - 1].end
    return QuestionTopic(text=question[start:stop], start=start, is_plural=looks_plural(words[end - 1]))
