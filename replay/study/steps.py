"""
One screen of judging: what a person is shown and what they are asked. Plain data, which presets make and
pages show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replay.core.conversation import Passage
from replay.core.history import Exchange

Value = str | int
WAY_OUT = "way_out"
"""In place of a field: nothing was answered, by the button of the screen."""
SWAYED = "the next screen shows something that could have swayed it"
"""Why an answer stands that must not depend on what comes."""
Answer = Mapping[str, Value]
"""By the field's name; a field that was left empty is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to answer a field."""

    value: Value
    label: str
    meaning: str | None = None
    """What it stands for, where the label speaks of an order that each rater has of their own; never shown to
    them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The passages of the study's data, which the page lets one search."""

    heading: str
    conversation: str | None = None
    """Id of the one whose passages they are; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that is asked: one of *options*, or a text where there are none."""

    name: str
    label: str
    options: tuple[Option, ...] = ()
    within: str | None = None
    """A text in which the answer has to occur, word for word."""
    index: Index | None = None
    """Where the answer has to be a passage's id."""
    required: bool = True
    help: str = ""
    longest: int = 2_000
    """Characters that a text may have."""

    @classmethod
    def choice(cls, name: str, label: str, options: Mapping[Any, str], **more: Any) -> Field:
        """Return a field to choose one of *options* in, labels by value; *more* are its other fields."""
        found = tuple(Option(value=value, label=text) for value, text in options.items())
        return cls(name=name, label=label, options=found, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text to read, under a heading of its own."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Questions and answers so far, oldest first."""

    heading: str
    exchanges: tuple[Exchange, ...]
    first: int = 1
    """The number of the first one."""
    asker: str = "Person"
    """Who asks, as the page calls them."""
    other: tuple[Exchange, ...] = ()
    """Of one that stands beside it: what isn't in that is marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """Passages, best first where they are *ranked*."""

    heading: str
    passages: tuple[Passage, ...]
    ranked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Texts or histories that are compared: beside each other where the screen is wide enough."""

    blocks: tuple[Text | Transcript, ...]


Block = Text | Transcript | Passages | Index | SideBySide


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStep:
    """One screen: *blocks* to read, and then *fields* to fill in."""

    id: str
    """Unlike that of every other step of its task; answers are kept under it."""
    heading: str
    blocks: tuple[Block, ...]
    fields: tuple[Field, ...]
    final: str = ""
    """Why what was answered stands, for people; empty where it can be changed."""
    alone: bool = False
    """Its task has no other screen, so that the study's own questions stand on it, too."""
    way_out: str = ""
    """The label of a button that answers nothing of all this; empty where there is none."""


def written(form: Mapping[str, str], name: str) -> str:
    """Return what *form* has under *name*, as it is kept."""
    return form.get(name, "").replace("\r\n", "\n").strip()


def read_answer(step: StudyStep, form: Mapping[str, str]) -> tuple[dict[str, Value], dict[str, str]]:
    """Return the answers in *form* to the fields of *step*, and the faults in it; both by field name."""
    answer: dict[str, Value] = {}
    faults: dict[str, str] = {}
    if step.way_out and form.get(WAY_OUT):
        return {WAY_OUT: 1}, {}
    for field in step.fields:
        given = written(form, field.name)
        if not given:
            if field.required:
                faults[field.name] = "choose one" if field.options else "write something"
        elif field.options:
            chosen = next((option for option in field.options if str(option.value) == given), None)
            if chosen is None:
                faults[field.name] = "choose one of those shown"
            else:
                answer[field.name] = chosen.value
        elif len(given) > field.longest:
            faults[field.name] = f"{len(given):,} characters; {field.longest:,} are allowed"
        elif field.within is not None and given not in field.within.replace("\r\n", "\n"):
            faults[field.name] = "this doesn't stand in the passage, word for word; copy it from there"
        else:
            answer[field.name] = given
    return answer, faults
