"""
Made-up turns for what data sets hardly hold: one of a list, "there", "then", a definite noun phrase.

Each is a document with a question, the question in words that need no history, and a second answer, under
which the question means the same or something else. Names, places and sentences are drawn from the
answers of real examples, the frames around them are ours.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replay.core.history import Exchange
from replay.coreference.resolver import Document
from replay.coreference.training.annotated_questions import Example

_LONGEST_LIST = 5
_NAME = re.compile(r"(?<![.?!:] )(?<!^)\b(?:[A-Z][\w'-]+)(?:\s(?:of\s|the\s|de\s)?[A-Z0-9][\w'-]*){0,3}")
_PLACE = re.compile(r"\b(?:in|at|to|from|near) ((?:the )?[A-Z][\w'-]+(?:\s[A-Z][\w'-]+){0,2})")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "October", "December")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_OPENINGS = (
    "What do you have?", "Which ones are there?", "What can you recommend?", "Who took part?", "Any ideas?",
    "What are my options?", "Which of them do you sell?", "Tell me what there is.", "What would you suggest?",
)  # fmt: skip
_LISTS = (
    "{list}.", "{The} {list}.", "There are {list}.", "You could try {list}.", "I can offer {list}.",
    "We have {list}. {filler}", "{filler} They are {list}.", "{numbered}", "{bullets}",
    "{filler}\n{numbered}",
    "Here are a few:\n{described}", "{filler}\n{described}\n{filler2}", "In this order:\n{bullets}",
)  # fmt: skip
_ORDERED = (
    "How much is {}?", "Tell me more about {}.", "What is {} like?", "Is {} still available?", "Book {}.",
    "How long does {} take?", "Who made {}?", "And {}?", "What about {}?", "How old is {}?", "I'd like {}.",
    "Where can I find {}?", "does {} cost more", "Why is {} so popular?", "Explain {} in more detail.",
)  # fmt: skip
_ORDINALS = (
    ("the first one", 0), ("the first", 0), ("the second one", 1), ("the second", 1), ("the third one", 2),
    ("the third", 2), ("the last one", -1), ("the last", -1), ("the second option", 1),
    ("the first option", 0),
    ("the last option", -1),
)  # fmt: skip
_COMPARED = (
    "Which of {them} is cheaper?", "Which of {them} is the oldest?", "Which of {them} do you like best?",
    "How do {them} differ?", "Are {they} open on Sundays?", "How much are {they}?", "Who made {them}?",
    "Can I have both of {them}?", "What do {they} have in common?", "Are {they} any good?",
    "Are all of {them} available?", "When were {they} made?", "Which {one} is the best?",
    "Which {one} would you take?", "And {the cheapest}?", "What is {the newest}?", "Which is {the largest}?",
)  # fmt: skip
_MORE = (
    "What else?",
    "Any others?",
    "Anything else?",
    "What else is there?",
    "Do you have any other?",
    "More?",
)
_TIMED = (
    ("Can I come earlier {}?", "that day"), ("What else happened {}?", "at that time"),
    ("Is it still open {}?", "then"), ("Will it be ready {}?", "by then"), ("What did they do {}?", "then"),
    ("Do I have anything else {}?", "that day"), ("Was there a war {}?", "at the time"),
    ("I have to work {}.", "then"), ("Where were you {}?", "that year"), ("Who was there {}?", "that day"),
    ("can someone let you in {}", "then"), ("What was the weather like {}?", "that day"),
    ("Will they be finished {}?", "by then"), ("Set a reminder for an hour before {}.", "then"),
)  # fmt: skip
_WHEN = (
    "When is it?", "When does it arrive?", "When did that happen?", "What is the date?",
    "When are you coming?",
)  # fmt: skip
_DATED = (
    "On {}.",
    "{}.",
    "It is on {}.",
    "That was {}. {filler}",
    "{filler} It will be {}.",
    "Your slot is {}.",
)
_THERE = (
    "What is the weather like {}?", "Can I park {}?", "How do I get {}?", "What else is {}?",
    "Do they live {}?",
    "How long did they stay {}?", "What did they do {}?", "Is it cold {}?", "Are dogs allowed {}?",
    "How many people live {}?", "When did they move {}?", "can you swim {}", "Who else worked {}?",
)  # fmt: skip
_WHERE = (
    "Where is it?",
    "Where did they go?",
    "Which office is it?",
    "Where was it made?",
    "Where do they live?",
)
_PLACED = ("In {}.", "It is in {}.", "They went to {}. {filler}", "{filler} That was in {}.", "At {}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeUp:
    """A turn with two histories."""

    example: Example
    own: Document
    """The same question after another answer."""
    same: bool
    """Whether it means the same there."""


def made_up(examples: Sequence[Example], count: int, seed: int = 0) -> Iterator[MadeUp]:
    """*count* turns with what *examples* name, none if that is too little; the same for the same *seed*."""
    rng = random.Random(seed)
    answers = sorted({turn.answer for e in examples for turn in e.document.turns if turn.answer})
    names = sorted({found for a in answers for found in _NAME.findall(a) if 3 < len(found) < 30})
    places = sorted({found for a in answers for found in _PLACE.findall(a)})
    fillers = sorted({s.strip() + "." for a in answers for s in a.split(".") if 4 < len(s.split()) < 25})
    if len(names) < _LONGEST_LIST or not places or not fillers:
        return
    makers = (_one_of_a_list, _all_of_a_list, _at_a_time, _at_a_place)
    for number in range(count):
        make = makers[number % len(makers)]
        yield make(rng, names, places, fillers, f"made up {number}")


def _turn(
    name: str, asked: tuple[str, str], answers: tuple[str, str], question: str, rewrite: str, same: bool
) -> MadeUp:
    def after(answer: str) -> Document:
        return Document(question=question, turns=(Exchange(question=asked[0], answer=answer),))

    example = Example(dialog=name, group=name, document=after(answers[0]), rewrite=rewrite, source="made up")
    return MadeUp(example=example, own=after(answers[1]), same=same)


def _list_answer(rng: random.Random, items: Sequence[str], fillers: Sequence[str]) -> str:
    joined = f"{', '.join(items[:-1])} {rng.choice(['and', 'or'])} {items[-1]}"
    return rng.choice(_LISTS).format(
        list=joined,
        The=rng.choice(["Yes:", "Sure:", "For example"]),
        numbered="\n".join(f"{n}. {item}" for n, item in enumerate(items, 1)),
        bullets="\n".join(f"- {item}" for item in items),
        described="\n".join(f"{n}. {item}: {rng.choice(fillers)}" for n, item in enumerate(items, 1)),
        filler=rng.choice(fillers),
        filler2=rng.choice(fillers),
    )


def _items(rng: random.Random, names: Sequence[str], size: int) -> list[str]:
    article = rng.choice(["", "", "the "])
    return [article + name for name in rng.sample(names, size)]


def _other_items(rng: random.Random, items: list[str], names: Sequence[str]) -> list[str]:
    """The list in another order, with other members, or as it is."""
    other = list(items)
    way = rng.randrange(4)
    if way == 0:
        rng.shuffle(other)
    elif way == 1:
        other[rng.randrange(len(other))] = rng.choice(names)
    elif way == 2:
        other = _items(rng, names, rng.choice([2, 3, 4]))
    return other


def _one_of_a_list(
    rng: random.Random, names: Sequence[str], places: Sequence[str], fillers: Sequence[str], name: str
) -> MadeUp:
    phrase, at = rng.choice(_ORDINALS)
    items = _items(rng, names, rng.choice([3, 3, 4, 5] if at == 2 else [2, 3, 3, 4, 5]))
    other = _other_items(rng, items, names)
    frame = rng.choice(_ORDERED)
    same = at < len(other) and other[at] == items[at]
    return _turn(
        name,
        (rng.choice(_OPENINGS), ""),
        (_list_answer(rng, items, fillers), _list_answer(rng, other, fillers)),
        frame.format(phrase),
        frame.format(items[at]),
        same,
    )


def _all_of_a_list(
    rng: random.Random, names: Sequence[str], places: Sequence[str], fillers: Sequence[str], name: str
) -> MadeUp:
    items = _items(rng, names, rng.choice([2, 2, 3, 3, 4]))
    other = _other_items(rng, items, names)
    whole = f"{', '.join(items[:-1])} and {items[-1]}"
    if rng.random() < 0.2:
        question = rng.choice(_MORE)
        rewrite = f"{question.rstrip('?')} besides {whole}?"
    else:
        frame = rng.choice(_COMPARED)
        put = frame[frame.index("{") + 1 : frame.index("}")]
        question = frame.replace("{", "").replace("}", "")
        one_of_them = put == "one" or put.startswith("the ")
        rewrite = frame.replace("{" + put + "}", f"{put} of {whole}" if one_of_them else whole)
    return _turn(
        name,
        (rng.choice(_OPENINGS), ""),
        (_list_answer(rng, items, fillers), _list_answer(rng, other, fillers)),
        question,
        rewrite,
        set(items) == set(other),
    )


def _moment(rng: random.Random) -> str:
    day, month, weekday = rng.randint(1, 28), rng.choice(_MONTHS), rng.choice(_DAYS)
    clock = rng.choice([f"{rng.randint(1, 12)} pm", f"{rng.randint(8, 20)}:{rng.choice(['00', '15', '30'])}"])
    return rng.choice(
        [weekday, f"{weekday} at {clock}", f"{day} {month}", f"{month} {day}", f"{weekday} {day} {month}",
         str(rng.randint(1890, 2024)), f"{month} {rng.randint(1990, 2024)}", clock]
    )  # fmt: skip


def _at_a_time(
    rng: random.Random, names: Sequence[str], places: Sequence[str], fillers: Sequence[str], name: str
) -> MadeUp:
    frame, phrase = rng.choice(_TIMED)
    moment = _moment(rng)
    other = moment if rng.random() < 0.4 else _moment(rng)
    said, own = (
        rng.choice(_DATED).replace("{}", m).replace("{filler}", rng.choice(fillers)) for m in (moment, other)
    )
    before = phrase.rpartition("then")[0] if phrase.endswith("then") else ""
    put = f"{before}{moment}" if before or phrase == "then" else f"on {moment}"
    return _turn(
        name, (rng.choice(_WHEN), ""), (said, own), frame.format(phrase), frame.format(put), moment == other
    )


def _at_a_place(
    rng: random.Random, names: Sequence[str], places: Sequence[str], fillers: Sequence[str], name: str
) -> MadeUp:
    place = rng.choice(places)
    other = place if rng.random() < 0.4 else rng.choice(places)
    said, own = (
        rng.choice(_PLACED).replace("{}", p).replace("{filler}", rng.choice(fillers)) for p in (place, other)
    )
    frame = rng.choice(_THERE)
    return _turn(
        name,
        (rng.choice(_WHERE), ""),
        (said, own),
        frame.format("there"),
        frame.format(f"in {place}"),
        place == other,
    )
