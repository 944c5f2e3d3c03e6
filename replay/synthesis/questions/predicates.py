"""What is asked of a clause: by the kind of thing that it says of its subject."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from replay.coreference.reading.words import word_set
from replay.synthesis.documents.document import SourceSection, SourceSentence
from replay.synthesis.questions.clauses import Clause
from replay.synthesis.questions.phrases import wish_of
from replay.synthesis.questions.question import DocumentFact, Kind, QuestionTopic
from replay.synthesis.questions.words import BE, CONJUNCTIONS, DETERMINERS, MODALS, PREPOSITIONS, gerund, verb

_BECAUSE = re.compile(r"\s(?:because (?!of )|so that )")
_PLURAL_DEFINITION = re.compile(r"(?:[a-z-]+ ){0,3}[a-z]+s (?:that|which|used|for|of|with|in)\b")
_NO_DEFINITION = re.compile(
    r"(?:an? (?:lot|bit|little|couple|few|good|great|separate|different|topic|must|priority)|the same"
    r"|one of)\b"
)
_USED = re.compile(r"used (?:to|for|as) ")
_PLACED = re.compile(
    r"^(?P<verb>stored|located|installed|saved|kept|defined|placed|hosted|written|recorded|configured|available"
    r"|published) (?:in|at|on|under|inside|by) (?!\w+ing\b)"
)
_COUNTED = re.compile(
    r"^(?P<bound>up to |at least |at most |a maximum of |a minimum of |exactly |only |about |approximately )?"
    r"(?P<number>\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)"
    r" (?P<what>[a-z][a-z-]+s|[a-z][a-z-]+ [a-z]+s|people|children|bytes)\s*$"
)
_DATED = re.compile(
    r"^(?P<what>\S.*?) (?P<when>(?:in|on|since|until) (?:(?:early |late )?(?:January|February|March|April|May"
    r"|June|July|August|September|October|November|December)(?: \d{1,2})?,? )?(?:1[5-9]|20)\d\d)$"
)
_REPEATED = re.compile(
    r"^(?:(?P<what>\S.*?) )?(?P<often>every (?:\d+ )?(?:second|minute|hour|day|week|month|year)s?"
    r"|once (?:a|per) \w+|\w+ times (?:a|per) \w+)$"
)
_BY_MEANS = re.compile(
    r"^(?P<what>\S+(?: \S+){0,7}?) (?P<means>(?:using|by|via|through) (?!default\b|itself\b)[^,;]{3,60})$"
)
_ON_CONDITION = re.compile(
    r"^(?P<what>\S+(?: \S+){0,9}?)"
    r" (?P<when>(?:only )?(?:when|if|once|whenever|as soon as) (?!possible)[^,;]{6,80})$"
)
_RESTRICTS = re.compile(r"\b(?:unless|while|except|if|when|until)\b|, or ", re.IGNORECASE)
"""What says when something is so, or what else may be; a clause cut before it would say too much."""
_ALSO = re.compile(r"\balso\b", re.IGNORECASE)
_PARTICLES = word_set("to up down out off back away together") | {""}
_USE_TO = re.compile(r"use (?P<what>[^,;]+?) to (?P<said>[a-z].+)$")

_ASKS_WHETHER = word_set(
    "check checks determine determines see know tell tells verify verifies decide decides ask asks test tests"
)
"""Verbs whose "if" is no condition."""
_ASKED_OF = word_set(
    """
    require need use support contain include return provide create define store represent affect expect
    accept describe control determine run manage hold produce generate monitor measure send offer mean
    cover replace collect handle record list show display specify execute add remove
    """
)
"""Verbs that "What does X ...?" is asked with; of the others one asks "What does X do?"."""
LONGEST_ACT = 10
"""Words after the verb, of what "Besides ..." says."""
_USING = word_set("people users customers visitors developers readers students children someone anyone")
"""Who may be the ones that use something: "watch people using it" says nothing of how."""
_ASKED_WITH = {
    "depend": "on", "rely": "on", "consist": "of", "refer": "to", "belong": "to", "apply": "to",
    "default": "to", "point": "to", "map": "to", "start": "with", "focus": "on",
}  # fmt: skip
_BY_THINGS = word_set(
    """
    identified triggered caused controlled determined protected replaced followed secured affected generated
    defined limited separated powered driven enforced computed calculated preceded surrounded delimited
    """
)
"""What things do as well as people: for the rest one would have to know whether to ask with "who"."""
_NO_EFFECTS = word_set("have be seem remain need mean tend appear want")
_SEVERAL = word_set("some few many most several both all each every any")
_MEASURES = word_set(
    """
    size length width height weight depth limit default maximum minimum max min value number amount duration
    price cost fee age rate timeout interval percentage share capacity contribution deadline speed frequency
    temperature voltage distance port version ratio threshold period range score count total quota
    """
)
"""What "What is ...?" asks a number for."""
_LIMITING = word_set("only just no longer")
_NO_QUESTIONS = word_set(
    "what how where why when that because whether called named known referred considered"
)
"""What opens a complement that no yes-or-no question is asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The sentence that answers."""

    section: SourceSection
    sentence: SourceSentence

    def fact(self, kind: Kind, question: str, *, short: str = "", **more: Any) -> DocumentFact:
        """Return the fact that *question* is answered by the sentence, and by *short* as well."""
        answers = (self.sentence.text, short) if short else (self.sentence.text,)
        return DocumentFact(
            kind=kind, question=question, answers=answers, start=self.sentence.start, section=self.section,
            **more,
        )  # fmt: skip


def facts_of_clause(told: Clause, tail: str, source: Source) -> Iterator[DocumentFact]:
    """Yield what *told* answers; *tail* ends each question (" by default")."""
    if told.is_cut and _RESTRICTS.search(source.sentence.text) and not _RESTRICTS.search(told.rest):
        return
    if told.is_mine:
        yield from _of_mine(told, tail, source)
        return
    subject, rest, auxiliary = told.subject, told.rest, told.auxiliary

    def ask(kind: Kind, question: str, *, framed: bool = False, **more: Any) -> DocumentFact:
        question = f"{question.rstrip('?')}{tail}?"
        frame = question.replace(subject, "{}", 1) if framed and "{" not in question else ""
        topic = QuestionTopic(text=subject, start=question.index(subject), is_plural=told.is_plural)
        return source.fact(kind, question, topic=topic, frame=frame, filler=subject if frame else "", **more)

    if _BECAUSE.search(source.sentence.text) and auxiliary != "did":
        negated = {"can": "can't", "will": "won't"}.get(auxiliary, auxiliary + "n't")
        line = f"Why {negated if told.is_negated else auxiliary} {subject} {told.predicate}?"
        yield ask("reason", line, reason_for=told.question(), is_denied=told.is_negated)
        return
    if not told.is_negated:
        found = next(_of_being(told, ask), None) or next(_of_doing(told, ask), None)
        if found is not None and found.kind not in ("object", "effect"):
            yield found
            return
        if found is not None and not _ALSO.search(source.sentence.text):
            yield found
        if not tail and (found := _of_circumstance(told, ask)) is not None:
            yield found
            return
        first, _, thing = rest.partition(" ")
        is_act = auxiliary in MODALS and not told.verb and first in _ASKED_OF and _is_object(thing)
        if is_act and not _is_several(told):
            yield ask("object", f"What {auxiliary} {subject} {first}?", framed=True)
    opening = rest.split()[0].lower() if rest else ""
    says_little = " " not in told.predicate or auxiliary in ("might", "could", "would")
    is_proposal = opening == "to" and subject.split()[0] in ("a", "an", "the", "another")
    if not says_little and (auxiliary not in BE or not (is_proposal or opening in _NO_QUESTIONS)):
        yield ask("yes-no", told.question(), is_denied=told.is_negated)


def _of_being(told: Clause, ask: Callable[..., DocumentFact]) -> Iterator[DocumentFact]:
    """Yield what a clause with "is" says, if it is no mere property."""
    subject, rest, be = told.subject, told.rest, told.auxiliary
    if be not in BE or told.verb or _is_several(told):
        return
    first = rest.split()[0].lower()
    defines = first in ("a", "an", "the", "one") and len(rest.split()) > 2 and not _NO_DEFINITION.match(rest)
    defines = defines and not re.search(r"\bof \d", subject)
    is_act = verb(first, "participle") is not None and first != "set"
    if be in ("is", "are") and (_PLURAL_DEFINITION.match(rest) and not is_act if told.is_plural else defines):
        yield ask("definition", f"What {be} {subject}?", framed=True)
    if _USED.match(rest):
        yield ask("effect", f"What {be} {subject} used for?", framed=True)
    if (placed := _PLACED.match(rest)) is not None:
        where = rest[placed.end("verb") :].strip()
        yield ask("place", f"Where {be} {subject} {placed['verb']}?", framed=True, short=where)
    if (dated := _DATED.match(rest)) is not None:
        yield ask("time", f"When {be} {subject} {dated['what']}?", short=dated["when"])
    if rest[:1].isdigit() and _MEASURES & set(subject.lower().split()):
        yield ask("amount", f"What {be} {subject}?", short=rest)


def _of_doing(told: Clause, ask: Callable[..., DocumentFact]) -> Iterator[DocumentFact]:
    """Yield what a clause with a verb says that its subject does."""
    does = f"{told.auxiliary} {told.subject} {told.verb}"
    if told.auxiliary not in ("does", "do", "did") or not told.verb:
        return
    rest, (*before, last) = told.rest, told.verb.split()
    if (dated := _DATED.match(rest)) is not None:
        yield ask("time", f"When {does} {dated['what']}?", short=dated["when"])
    if (repeated := _REPEATED.match(rest)) is not None:
        yield ask(
            "amount", f"How often {does} {repeated['what'] or ''}".rstrip() + "?", short=repeated["often"]
        )
    if (counted := _COUNTED.match(rest)) is not None:
        yield ask("amount", f"How many {counted['what']} {does}?", short=rest.strip())
    if (preposition := _ASKED_WITH.get(last)) is not None and rest.startswith(f"{preposition} "):
        yield ask("object", f"What {does} {preposition}?")
    if _is_several(told) or set(before) & _LIMITING:
        return
    if last in _ASKED_OF and _is_object(rest):
        yield ask("object", f"What {does}?", framed=True)
    is_effect = last not in _NO_EFFECTS and "have to" not in told.verb and _is_object(rest)
    # Of things without an article, "What does Redis do?" asks for all that is said of them.
    opening, *following = told.subject.split()
    is_one = opening in DETERMINERS or not told.subject.replace(" ", "").isalpha()
    is_one = is_one and not (following[1:2] == ["of"] and verb(following[0], "gerund"))
    if told.auxiliary != "did" and is_effect and is_one:
        act = f"{gerund(last)} {rest}" if not before and len(rest.split()) <= LONGEST_ACT else ""
        yield ask("effect", f"What {told.auxiliary} {told.subject} do?", framed=True, act=act)


def _of_circumstance(told: Clause, ask: Callable[..., DocumentFact]) -> DocumentFact | None:
    """Return what is asked with "how" or "when" of a clause that ends by saying it."""
    means = _BY_MEANS.match(told.predicate)
    if means is not None and _may_be_how(told, means["what"]):
        agent = re.match(r"by (?!\w+ing\b)", means["means"])
        if agent is not None and told.auxiliary in BE and means["what"] in _BY_THINGS:
            by = f"What {told.auxiliary} {told.subject} {means['what']} by?"
            return ask("object", by, short=means["means"][agent.end() :])
        if agent is None or not (told.auxiliary in BE or means["what"].startswith("be ")):
            return ask("procedure", told.question("how", means["what"]), short=means["means"])
    when = _ON_CONDITION.match(told.predicate)
    if when is None or told.is_cut or told.auxiliary in ("has", "have"):
        return None
    if told.auxiliary in BE and " " not in when["what"] and verb(when["what"], "participle") is None:
        return None
    what = when["what"].removeprefix("only ").replace(" only ", " ")
    last = what.split()[-1].lower()
    if last in PREPOSITIONS | _ASKS_WHETHER or verb(last, "gerund"):
        return None
    return ask("condition", told.question("when", what), short=when["when"])


def _of_mine(told: Clause, tail: str, source: Source) -> Iterator[DocumentFact]:
    """Yield what a clause says that the reader can, should or must do."""
    allowed = told.auxiliary == "can" and not told.is_negated
    means = _BY_MEANS.match(told.predicate)
    if allowed and not tail and means is not None and _may_be_how(told, means["what"]):
        yield source.fact("procedure", told.question("how", means["what"]), short=means["means"])
        return
    used = _USE_TO.match(told.rest)
    if allowed and used is not None and wish_of(used["said"]) is not None:
        yield source.fact("object", f"What can I use to {used['said']}{tail}?", short=used["what"])
        return
    when = _ON_CONDITION.match(told.predicate)
    if not told.is_negated and not tail and when is not None and not told.is_cut:
        yield source.fact("condition", told.question("when", when["what"]), short=when["when"])
        return
    if " " not in told.predicate:
        return
    frame, thing = ("", "") if tail else _frame_of(told)
    question = f"{told.question().rstrip('?')}{tail}?"
    yield source.fact("yes-no", question, is_denied=told.is_negated, frame=frame, filler=thing)


def _frame_of(told: Clause) -> tuple[str, str]:
    """Return the question with a gap for its object, and the object: "Can I delete {}?", "a node"."""
    first, _, thing = told.rest.partition(" ")
    words = thing.split()
    if verb(first, "base") is None or not 1 <= len(words) <= 4 or words[0] not in DETERMINERS:
        return "", ""
    if any(word in PREPOSITIONS | CONJUNCTIONS for word in words):
        return "", ""
    start = " ".join(part for part in (told.auxiliary, "I", told.verb, first) if part)
    return f"{start[:1].upper()}{start[1:]} {{}}?", thing


def _may_be_how(told: Clause, what: str) -> bool:
    """Return whether one asks how of it: an action of somebody, or what is done to something."""
    words = what.split()
    if told.verb.startswith("have to") or "information" in words or words[-2:-1] == ["as"]:
        return False
    if told.is_mine and len(words) < 2:
        return False
    if words[-1].lower() in PREPOSITIONS | CONJUNCTIONS | BE | _USING | {"just", "only", "more", "am"}:
        return False
    if told.auxiliary in BE:
        return len(words) < 4 and verb(words[0].lower(), "participle") is not None
    if told.auxiliary in ("does", "do"):
        return not re.search(r" by (?!\w+ing\b)", told.predicate)
    return told.auxiliary == "can" and (told.is_mine or words[0] == "be")


def _is_several(told: Clause) -> bool:
    return told.subject.split()[0] in _SEVERAL


def _is_object(rest: str) -> bool:
    first = rest.partition(" ")[0].lower()
    return first not in PREPOSITIONS | CONJUNCTIONS | _PARTICLES
