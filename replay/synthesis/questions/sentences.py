"""The questions that one sentence answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from replay.coreference.reading.words import word_set
from replay.synthesis.documents.document import Section, Sentence
from replay.synthesis.questions.clauses import Clause, clause, noun_phrase
from replay.synthesis.questions.fact import Fact, Kind, Topic
from replay.synthesis.questions.verbs import verb
from replay.synthesis.questions.words import (
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    LEANING,
    MODALS,
    PREPOSITIONS,
    Vocabulary,
    Word,
    in_first_person,
    leans,
    words_of,
)

SHORTEST, LONGEST = 5, 45
"""Words of a sentence that is asked about."""

_OUT_OF_PLACE = re.compile(
    r"https?://|\b(?:above|below|as follows|following (?:section|example|table|page|command)|see|refer to"
    r"|this (?:page|guide|section|document|tutorial|article|topic|chapter|example|table|release|post|site)"
    r"|for example|for instance|we|our|us|let's|e\.g|i\.e|todo|click here|learn more|\w+ed in (?:the )?previous)\b"
    r"|[{}<>|\\]|\.\.\.|…|\?|!$",
    re.IGNORECASE,
)
"""What an answer has that only its page can show, and what is no running text."""
_LEAD_OFF = re.compile(
    r"^(?:note(?: that|:)|additionally,|in addition,|also,|furthermore,|moreover,)\s+", re.IGNORECASE
)
_BY_DEFAULT = re.compile(r"^By default,? ")
_PLACED = re.compile(r"^(?P<said>(?:In|On|For|During|With|Within|Under) (?P<phrase>[^,.;:]{2,40})), (?=\w)")
_CONDITION = re.compile(
    r"^(?P<word>If|When|Once|Unless) (?P<said>[^,;:()]{6,110}), (?:then )?(?P<main>[\w`].*)$"
)
_PURPOSE = re.compile(r"^(?:To|In order to) (?P<said>[^,;:()]{6,90}), (?P<main>[\w`].*)$")
_MEANS = re.compile(
    r"^(?P<means>(?:Use|Run|Set|Add|Enable|Specify|Call|Pass|Click|Select|Choose) [^,;:()]{2,60}?) to (?P<said>[a-z][^,;:()]{5,80})\.$"
)
_LETS = re.compile(
    r"^(?P<subject>[^,;:()]{2,60}?) (?:lets you|allows you to|enables you to) (?P<said>[a-z][^,;:()]{5,90}?)(?:[.,;:(]|\.$)"
)
_USED = re.compile(r"^(?P<subject>[^,;:()]{2,60}?) (?P<be>is|are|can be) used (?:to|for|as) ")
_DOING_FIRST = re.compile(r"^(?P<word>Before|After) (?P<said>[a-z]+ing [^,;:()]{3,80}), (?P<main>[\w`].*)$")
_BECAUSE = re.compile(r"\s(?:because (?!of )|so that )")
_STORED = re.compile(
    r"^(?P<verb>stored|located|installed|saved|kept|defined|placed|hosted|written|recorded|configured|available|published)"
    r" (?:in|at|on|under|inside|by) (?!\w+ing\b)"
)
_COUNTED = re.compile(
    r"^(?P<bound>up to |at least |at most |a maximum of |a minimum of |exactly |only |about |approximately )?"
    r"(?P<number>\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)"
    r" (?P<what>[a-z][a-z-]+s|[a-z][a-z-]+ [a-z]+s|people|children|bytes)\b(?P<after>.*)$"
)
_WHEN = re.compile(
    r"^(?P<what>\S.*?)? ?(?P<when>(?:in|on|since|until) (?:(?:early |late )?(?:January|February|March|April|May|June|July"
    r"|August|September|October|November|December)(?: \d{1,2})?,? )?(?:1[5-9]|20)\d\d)$"
)
_EVERY = re.compile(
    r"^(?P<what>\S.*?) (?P<every>every (?:\d+ )?(?:second|minute|hour|day|week|month|year)s?|once (?:a|per) \w+|\w+ times (?:a|per) \w+)$"
)
_KNOWN_AS = word_set("called named known referred considered")

_BY_MEANS = re.compile(
    r"^(?P<what>\S+(?: \S+){0,7}?) (?P<means>(?:using|by|via|through) (?!default\b|itself\b)[^,;]{3,60})$"
)
_ON_CONDITION = re.compile(r"^(?P<what>\S+(?: \S+){0,9}?) (?P<when>(?:only )?(?:when|if|once|whenever|as soon as) (?!possible)[^,;]{6,80})$")

_ASKED_OF = word_set(
    """
    require need use support contain include return provide create define store represent affect expect accept
    describe control determine run manage hold produce generate monitor measure send offer mean cover replace
    collect handle record list show display specify execute add remove
    """
)
"""Verbs that "What does X ...?" is asked with; of the others one asks "What does X do?"."""
_ASKED_WITH = {"depend": "on", "rely": "on", "consist": "of", "refer": "to", "belong": "to", "apply": "to",
               "default": "to", "point": "to", "map": "to", "start": "with", "focus": "on"}  # fmt: skip

_VAGUE = word_set(
    """
    value values option options command commands file files example examples page section table list result results
    output input step steps process method methods function functions argument arguments parameter parameters field
    fields name names number numbers type types object objects class item items default reason purpose goal idea case
    cases way ways thing things problem issue problems issues change changes difference version system user users code
    data first second third last rest part parts point note time key keys line lines string text message error errors
    setting settings feature features behavior behaviour approach answer question attribute attributes property
    properties information content contents document documentation tool tools test tests project team
    """
)
"""Heads of noun phrases that name nothing by themselves."""

_META = word_set(
    "documentation docs page article post example examples table figure diagram section guide tutorial screenshot list"
)
_ORDINALS = word_set("first second third fourth fifth last next rest only following main additional another")
_KNOWN_TO_ALL = word_set(
    "user users browser internet world web network terminal keyboard screen mouse clock time day week month year week"
    " future past end start beginning background"
)
"""What "the" needs no telling before."""

_GENERAL = word_set(
    "someone something anything everything everyone anyone nothing people most some many all both none"
)


def facts_of(
    section: Section, sentence: Sentence, known: Vocabulary, before: Sentence | None = None
) -> Iterator[Fact]:
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
        subject = subject_meant(text, before, known)
        if subject is None:
            return
        read = _with_subject(subject, read, text.index(" "))
    for fact in _asked_of(section, read, known):
        answer = text if fact.answers[0] == read.text else fact.answers[0]
        yield replace(fact, answers=(answer, *fact.answers[1:]))
    told = clause(read.text, words_of(read), known)
    if told is None or told.second < 0 or told.subject == "I":
        return
    joined = re.match(r",? ?(?:and|or|but) (?:also |then )?", read.text[told.second :])
    at = text.rfind(read.text[told.second :])
    if joined is None or at < 0:
        return
    second = _with_subject(told.subject, read, told.second + joined.end() - 1)
    at += joined.end()
    said = text[at:].removesuffix(".")
    for fact in _asked_of(section, second, known):
        if fact.topic is not None and len(said.split()) > 2:
            yield replace(fact, answers=(said, *fact.answers[1:]), start=sentence.start + at)


def subject_meant(text: str, before: Sentence | None, known: Vocabulary) -> str | None:
    """Return what "It" or "They" at the start of *text* means, where *before* names one thing it can mean."""
    if before is None or re.match(r"It (?:is|was|'s|can be|may be|looks|seems|takes) (?:\w+ )?(?:to|that|possible|not)\b", text):
        return None
    told = clause(before.text, words_of(before), known)
    plural = text.startswith("They")
    if told is None or told.subject == "I" or told.is_plural != plural or told.is_cut or " of " in told.subject:
        return None
    if told.auxiliary not in BE:
        at = before.text.find(told.rest)
        rest = words_of(replace(before, text=told.rest, literals=())) if at >= 0 else []
        for i, word in enumerate(rest):
            end = noun_phrase(rest, i)
            if end > i and word.low in DETERMINERS | {"its", "their"} or word.text[:1].isupper() or word.low.isdigit():
                return None
    return told.subject


def _with_subject(subject: str, sentence: Sentence, at: int) -> Sentence:
    """Return *sentence* from the offset *at* on, after *subject*."""
    shift = len(subject) - at
    moved = tuple((start + shift, end + shift) for start, end in sentence.literals if start >= at)
    opening = subject[:1].upper() + subject[1:] if subject.split()[0] in DETERMINERS else subject
    return replace(sentence, text=opening + sentence.text[at:], literals=moved)


def _asked_of(section: Section, sentence: Sentence, known: Vocabulary) -> Iterator[Fact]:
    for fact in _about(sentence.text, sentence, section, known):
        if not _unknown_things(fact.question, known):
            yield fact if fact.topic is not None else replace(fact, topic=_topic_of_i(fact.question))


def _unknown_things(question: str, known: Vocabulary) -> bool:
    """Return whether *question* says "the" of something that only the page around it tells ("the form")."""
    words = [word for word in words_of(Sentence(text=question, start=0))]
    for word, noun, after in zip(words, words[1:], [*words[2:], None], strict=False):
        if word.low != "the" or noun.text[:1].isupper() or not noun.text.isalpha():
            continue
        if (
            after is not None
            and (after.is_noun_like or after.low == "of")
            and verb(after.low, "base") is None
        ):
            continue
        if noun.low not in known.named | _KNOWN_TO_ALL and noun.low.removesuffix("s") not in known.named:
            return True
    return False


def _about(text: str, sentence: Sentence, section: Section, known: Vocabulary) -> Iterator[Fact]:
    def fact(kind: Kind, question: str, *, filler: str = "", frame: str = "", topic: Topic | None = None,
             short: str = "", reason_for: str = "", is_denied: bool = False) -> Fact:  # fmt: skip
        return Fact(
            kind=kind, question=question, answers=(text, short) if short else (text,), start=sentence.start,
            section=section, frame=frame, filler=filler, topic=topic, reason_for=reason_for, is_denied=is_denied,
        )  # fmt: skip

    if (found := _CONDITION.match(text)) is not None:
        yield from _of_condition(found, known, fact)
        return
    if (found := _PURPOSE.match(text) or _MEANS.match(text)) is not None:
        said = wanted(found["said"])
        main = found.groupdict().get("main")
        if said is not None and (main is None or is_doing(main)):
            yield fact("procedure", f"How do I {said}?")
        return
    if (found := _DOING_FIRST.match(text)) is not None:
        if is_doing(found["main"]) and not _points(found["said"]):
            yield fact(
                "procedure", f"What should I do {found['word'].lower()} {in_first_person(found['said'])}?"
            )
        return

    lead = _LEAD_OFF.match(text)
    at = lead.end() if lead else 0
    tail = ""
    if (default := _BY_DEFAULT.match(text, at)) is not None:
        at, tail = default.end(), " by default"
    elif (placed := _PLACED.match(text, at)) is not None:
        if _points(placed["phrase"]) or _has_verb(placed["phrase"]):
            return
        at, tail = placed.end(), " " + in_first_person(placed["said"][:1].lower() + placed["said"][1:])
    words = words_of(sentence)
    start = next((i for i, word in enumerate(words) if word.start >= at), len(words))
    if start >= len(words) or words[start].low in LEANING:
        return
    if (found := _LETS.match(text, at)) is not None and not tail:
        end = noun_phrase(words, start)
        if end > start and words[end - 1].end == found.end("subject") and not _points(found["said"]):
            subject = known.lowered(found["subject"])
            if names_something(words[start:end], known):
                yield fact("effect", f"What does {subject} let me do?" if not _plural(words[end]) else f"What do {subject} let me do?",
                           topic=_topic(subject, 9 if not _plural(words[end]) else 8, _plural(words[end])))  # fmt: skip
        return
    told = clause(text, words, known, start)
    if told is None:
        return
    subject_words = [word for word in words[start:] if word.start < words[start].start + len(told.subject)]
    if told.subject != "I" and (leans(subject_words) or not names_something(subject_words, known)):
        return
    yield from _of_clause(told, text, tail, fact)


def _of_condition(found: re.Match[str], known: Vocabulary, fact: object) -> Iterator[Fact]:
    said, word, main = found["said"], found["word"].lower(), found["main"]
    if word == "unless" or _points(said):
        return
    make = fact  # type: ignore[assignment]
    wants = re.match(r"you(?:'d| would)? (?:want|need|wish|like) to (?P<what>.+)$", said)
    if wants is not None:
        goal = wanted(wants["what"])
        if goal is not None and is_doing(main):
            yield make("procedure", f"How do I {goal}?")  # type: ignore[operator]
        return
    condition = in_first_person(said)
    words = words_of(Sentence(text=said, start=0))
    told = clause(said, words, known) if words[0].low != "you" else None
    if words[0].low != "you" and told is None:
        return
    starts = "What should I do" if is_doing(main) else "What happens"
    frame = f"{starts} {word} {{}}?"
    question = frame.format(condition)
    yield make("condition", question, frame=frame, filler=condition,  # type: ignore[operator]
               topic=_topic(told.subject, question.index(told.subject), told.is_plural)
               if told is not None and told.subject in question else None)  # fmt: skip


def _of_clause(told: Clause, text: str, tail: str, fact: object) -> Iterator[Fact]:
    make = fact
    subject, rest = told.subject, told.rest

    def topic_at(question: str) -> Topic | None:
        at = question.find(subject)
        return _topic(subject, at, told.is_plural) if subject != "I" and at >= 0 else None

    def asked(kind: Kind, question: str, *, framed: bool = False, short: str = "", **more: object) -> Fact:
        question = question[:-1].rstrip() + tail + "?"
        frame = question.replace(subject, "{}", 1) if framed and "{" not in question else ""
        made: Fact = make(kind, question, topic=topic_at(question), short=short, frame=frame,  # type: ignore[operator]
                          filler=subject if frame else "", **more)  # fmt: skip
        return made

    be = told.auxiliary in BE
    first = rest.split()[0].lower() if rest else ""
    reason = _BECAUSE.search(text)
    whole = told.asked()
    if reason is not None and told.auxiliary != "did" and subject != "I":
        auxiliary = told.auxiliary
        if told.is_negated:
            auxiliary = {"can": "can't", "will": "won't"}.get(auxiliary, auxiliary + "n't")
        line = f"Why {auxiliary} {subject} {told.predicate}?"
        yield asked("reason", line, reason_for=whole, is_denied=told.is_negated)
        return
    several = subject.split()[0] in ("some", "many", "most", "several", "both", "all", "each", "every", "any")
    if be and not told.is_negated and not told.verb and not several:
        if first in ("a", "an", "the", "one") and not told.is_plural and len(rest.split()) > 2:
            yield asked("definition", f"What {told.auxiliary} {subject}?", framed=True)
            return
        if told.is_plural and re.match(
            r"(?:[a-z-]+ ){0,3}[a-z]+s (?:that|which|used|for|of|with|in)\b", rest
        ):
            yield asked("definition", f"What {told.auxiliary} {subject}?", framed=True)
            return
        if _USED.match(text[text.find(told.subject) if told.subject in text else 0 :]):
            yield asked("effect", f"What {told.auxiliary} {subject} used for?", framed=True)
            return
        if (stored := _STORED.match(rest)) is not None:
            yield asked("place", f"Where {told.auxiliary} {subject} {stored['verb']}?", framed=True,
                        short=rest[stored.end("verb") :].strip())  # fmt: skip
            return
        if (when := _WHEN.match(rest)) is not None and when["what"]:
            yield asked("time", f"When {told.auxiliary} {subject} {when['what']}?", short=when["when"])
            return
        if re.match(r"\d", rest):
            yield asked("amount", f"What {told.auxiliary} {subject}?", short=rest)
            return
        if first in _KNOWN_AS:
            return
    if (
        not be
        and told.auxiliary in ("does", "do", "did")
        and told.verb
        and subject != "I"
        and not told.is_negated
    ):
        last = told.verb.split()[-1]
        if (when := _WHEN.match(rest)) is not None and when["what"]:
            yield asked(
                "time", f"When {told.auxiliary} {subject} {told.verb} {when['what']}?", short=when["when"]
            )
            return
        if (often := _EVERY.match(rest)) is not None:
            yield asked(
                "amount",
                f"How often {told.auxiliary} {subject} {told.verb} {often['what']}?",
                short=often["every"],
            )
            return
        if (counted := _COUNTED.match(rest)) is not None and not counted["after"].strip():
            yield asked("amount", f"How many {counted['what']} {told.auxiliary} {subject} {told.verb}?",
                        short=f"{counted['bound'] or ''}{counted['number']} {counted['what']}")  # fmt: skip
            return
        asks_with = _ASKED_WITH.get(last)
        if asks_with is not None and first == asks_with:
            yield asked("object", f"What {told.auxiliary} {subject} {told.verb} {asks_with}?")
            return
        if told.verb != last and told.verb.split()[0] in ("only", "just", "no", "longer"):
            yield asked("yes-no", whole)
            return
        if last in _ASKED_OF and _is_object(rest) and not several:
            yield asked("object", f"What {told.auxiliary} {subject} {told.verb}?", framed=True)
            if last != "have":
                yield asked("yes-no", whole)
            return
        if (
            told.auxiliary in ("does", "do")
            and not several
            and last not in ("have", "be", "seem", "remain", "need", "mean")
            and "have to" not in told.verb
        ):
            yield asked("effect", f"What {told.auxiliary} {subject} do?", framed=True)
    by_means = _BY_MEANS.match(told.predicate)
    if by_means is not None and not told.is_negated and not tail and _may_be_how(told, by_means["what"]):
        yield asked("procedure", told.asked("how", by_means["what"]), short=by_means["means"])
        return
    on_condition = _ON_CONDITION.match(told.predicate)
    if on_condition is not None and not told.is_negated and not tail and not told.is_cut:
        if len(on_condition["what"].split()) > 1 or not be:
            yield asked("condition", told.asked("when", on_condition["what"]), short=on_condition["when"])
            return
    used = re.match(r"use (?P<what>[^,;]+?) to (?P<said>[a-z].+)$", rest)
    if subject == "I" and told.auxiliary == "can" and used is not None and wanted(used["said"]) is not None:
        yield asked("object", f"What can I use to {used['said']}?", short=used["what"])
        return
    if told.auxiliary in MODALS and not told.is_negated and not several and not told.verb and subject != "I":
        if first in _ASKED_OF and _is_object(" ".join(rest.split()[1:])):
            yield asked("object", f"What {told.auxiliary} {subject} {first}?", framed=True)
    if be and first in ("what", "how", "where", "why", "when", "that", "because", "whether", "called"):
        return
    if subject == "I":
        frame = _frame_of(told)
        question = f"{whole[:-1]}{tail}?"
        yield make("yes-no", question, is_denied=told.is_negated,  # type: ignore[operator]
                   frame=frame[0] if not tail else "", filler=frame[1] if not tail else "")  # fmt: skip
        return
    yield asked("yes-no", whole, is_denied=told.is_negated)


def _frame_of(told: Clause) -> tuple[str, str]:
    """Return the question with a gap for its object, and the object: "Can I delete {}?", "a node"."""
    first, _, thing = told.rest.partition(" ")
    words = thing.split()
    if verb(first, "base") is None or not 1 <= len(words) <= 4 or words[0] not in DETERMINERS:
        return "", ""
    if any(word in PREPOSITIONS | CONJUNCTIONS for word in words):
        return "", ""
    start = f"{told.auxiliary} I {told.verb} {first}".replace("  ", " ")
    return f"{start[:1].upper()}{start[1:]} {{}}?", thing


def _may_be_how(told: Clause, what: str) -> bool:
    """Return whether one asks how of it: an action of somebody, or what is done to something."""
    words = what.split()
    if words[-1].lower() in PREPOSITIONS | {"just", "only", "information", "more"} or "information" in words:
        return False
    if told.auxiliary in BE:
        return len(words) < 4 and verb(words[0].lower(), "participle") is not None
    if told.subject == "I":
        return told.auxiliary == "can"
    return told.auxiliary in ("can", "does", "do") and words[0] == ("be" if told.auxiliary == "can" else words[0])


_WHAT_I_DO = re.compile(r"\b(?:I|I'm) (?=[a-z])")


def _topic_of_i(question: str) -> Topic | None:
    """Return what a question with "I" is about: the object of its verb, "a node" of "Can I delete a node?"."""
    found = list(_WHAT_I_DO.finditer(question))
    if not found:
        return None
    words = words_of(Sentence(text=question[found[-1].end() :], start=0))
    at = 0
    while at < len(words) and (words[at].is_adverb or words[at].low in ("have", "need", "want", "to", "am")):
        at += 1
    if at + 1 >= len(words) or not any(verb(words[at].low, form) for form in ("base", "gerund")):
        return None
    end = noun_phrase(words, at + 1)
    if end == at + 1 or words[at + 1].low not in ("a", "an", "the", "your", "my"):
        return None
    if end < len(words) and words[end].low == "of":
        return None
    start, stop = found[-1].end() + words[at + 1].start, found[-1].end() + words[end - 1].end
    head = words[end - 1].low
    return Topic(text=question[start:stop], start=start, is_plural=head.endswith("s") and not head.endswith(("ss", "us")))


def _topic(text: str, start: int, is_plural: bool) -> Topic:
    return Topic(text=text, start=start, is_plural=is_plural)


def _plural(word: Word) -> bool:
    return word.low in ("let", "allow", "enable")


def wanted(said: str) -> str | None:
    """Return "delete a node" of "delete a node" as somebody says it who wants it; None for what is no verb phrase."""
    words = said.split()
    if (
        verb(words[0].lower(), "base") is None
        or _points(said)
        or words[0].lower() in ("see", "learn", "summarize", "be", "avoid")
    ):
        return None
    if words[-1].lower() in PREPOSITIONS | DETERMINERS or len(words) < 2 or len(words) > 14:
        return None
    return in_first_person(said)


def _points(said: str) -> bool:
    return any(word in LEANING for word in re.findall(r"[a-z']+", said.lower()))


def _has_verb(said: str) -> bool:
    return (
        any(word in BE for word in said.lower().split())
        or verb(said.split()[0].lower(), "gerund") is not None
    )


def is_doing(main: str) -> bool:
    """Return whether *main* says what to do: an imperative, or what "you" can, should or must."""
    words = main.removeprefix("please ").split()
    low = [word.lower().strip(",.") for word in words[:4]]
    if low[:1] == ["you"]:
        return (
            len(low) > 1
            and low[2:3] != ["be"]
            and low[1] in ("can", "should", "must", "need", "have", "may", "could")
        )
    if low[:1] in (["see"], ["refer"], ["read"], ["check"]) or not low:
        return False
    return verb(low[0], "base") is not None and words[0].islower() and (low[1:2] != ["is"])


def _is_object(rest: str) -> bool:
    first = rest.split()[0] if rest else ""
    return first.lower() not in PREPOSITIONS | CONJUNCTIONS | {"to"} and first != ""


def names_something(words: list[Word], known: Vocabulary) -> bool:
    """Return whether the noun phrase *words* says by itself what it means."""
    inside = [word for word in words if word.low not in DETERMINERS]
    if (
        not inside
        or inside[0].low in _GENERAL
        or any(word.low in LEANING and not word.is_literal for word in inside)
    ):
        return False
    if verb(inside[0].low, "gerund") is not None and inside[0].text[:1].isupper():
        return False
    if any(word.is_literal for word in inside):
        return True
    content = [word for word in inside if word.low not in PREPOSITIONS]
    head = words[noun_phrase(words, 0) - 1].low if noun_phrase(words, 0) else ""
    if head in _META or content[0].low in _ORDINALS:
        return False
    if len(content) >= 2:
        return not all(word.low in _VAGUE for word in content)
    word = content[0]
    if word.low in _VAGUE or len(word.low) < 3:
        return False
    if words[0].low in ("the", "your"):
        return word.low in known.named or word.low.removesuffix("s") in known.named
    return (
        word is not words[0]
        or word.text in known.names
        or (word.low in known.common
        and word.low.endswith("s"))
    )
