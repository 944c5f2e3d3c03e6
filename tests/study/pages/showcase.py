"""A preset that shows all that a screen can hold, with the texts that are hardest to show."""

from __future__ import annotations

from dataclasses import dataclass

from replay.core.conversation import Passage
from replay.core.history import Exchange
from replay.study.preset import (
    Field,
    Option,
    Passages,
    Preset,
    Results,
    SideBySide,
    StudyStep,
    TaskContent,
    Text,
    Transcript,
)
from replay.study.tasks import Index

SPACED = "The hall was opened in  1921,\n    and its organ\tin 1933.\n| a | b |\n| 1 | 2 |\nSo it was."
"""Two spaces, an indented line, a tab and a table: a page may show them otherwise, a span keeps them."""
LONG = "Der Zug nach Øresund fährt um 10:45 ab, 東京行きの電車も。 " * 180
TABLE = (
    "Look:\n\n| city | trams |\n|------|-------|\n| Oslo | "
    + "very many " * 30
    + "|\n\n```\ndef f(x):\n    return x\n```\nDone."
)
ARABIC = "متى افتتح المتحف؟ (museum, 1921)\nIt was opened in 1921."
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\u202egnp.exe"
YES_NO = (Option(value=1, label="Yes"), Option(value=0, label="No"))


class Everything(TaskContent, frozen=True, kw_only=True):
    """The one task needs nothing."""

    kind = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Showcase(Preset):
    """One task of three screens."""

    needs = frozenset()
    contents = (Everything,)
    instructions = "Judge what you see.\n\nIt is short."

    def tasks(self, material):
        return [Everything().task("c")]

    def practice(self, item):
        raise NotImplementedError

    def screens(self, task, content, turns, answers):
        passages = (
            Passage(id="p1", title="The hall", text=SPACED),
            Passage(id="p2", title=None, text=LONG),
        )
        exchange = Exchange(question=ARABIC, answer=HOSTILE)
        return [
            StudyStep(
                id="span",
                heading="Question 1",
                blocks=(
                    Passages(heading="Passages", passages=passages, ranked=True),
                    Index(heading="All passages"),
                    Transcript(heading="Before", exchanges=(exchange, exchange)),
                    Text(heading="Question", text=ARABIC),
                    Text(heading="Answer", text=TABLE),
                ),
                fields=(
                    Field(name="correct", label="Is the answer correct?", options=YES_NO),
                    Field(name="kind", label="Is it a question?", options=YES_NO, help="As asked."),
                    Field(name="span", label="Where does it stand?", within=SPACED, required=False),
                ),
            ),
            StudyStep(
                id="two",
                heading="Which is better?",
                blocks=(
                    Transcript(heading="Before", exchanges=(exchange,)),
                    SideBySide(blocks=(Text(heading="A", text=LONG), Text(heading="B", text=HOSTILE))),
                ),
                fields=(Field(name="better", label="Which is better?", options=YES_NO),),
            ),
            StudyStep(
                id="words",
                heading="In your words",
                blocks=(Text(heading="Answer", text="It was opened in 1921."),),
                fields=(Field(name="why", label="Why?"),),
            ),
        ]

    def results(self, state):
        return Results(records=(), conversations=())
