"""
``wording``: people are the user of a run: they word its turns of which the recorded question no longer does.

The tasks come from runs with the user ``person`` (policy ``react``), one for each turn and each wording of it
that failed a test, and the run goes on with what was written. A screen shows the conversation so far, what
the recorded user wanted and knew, and why the recorded question does not do; never a recorded answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from replay.core.conversation import Passage
from replay.core.errors import InputError
from replay.statistics.people import HumanTable
from replay.study.preset import (
    Block,
    Field,
    Material,
    Passages,
    PracticeItem,
    Preset,
    Results,
    StudyStep,
    TaskContent,
    Text,
    Transcript,
)
from replay.study.presets.run_turns import answered_tasks
from replay.study.tasks import Answer, NewTask, StudyState, TalkTurn, Task
from replay.users.faithful import LEAST_ROOM
from replay.users.user import WHY, WordingRequest

SKIP = "Skip"
INSTRUCTIONS = f"""\
You are the user of a chat system, in the middle of a conversation with it. There was a script of what to \
say, and its next line does not do any more. Say what you want in its place: one short message, at most \
{LEAST_ROOM} words or so, as you would write it.

You know what stands on the page and nothing else. Don't guess the answer, make up no number, name or date, \
and say what you know only if it is asked for. Don't agree with what you don't want, don't thank, and don't \
say goodbye.

If nothing that you know gets any further, press "{SKIP}". Some messages can't be sent: the page says why, \
and you write another."""
TURN = "turn"
"""The screen of a task, and its field."""


class WordingTask(TaskContent, frozen=True, kw_only=True):
    """A turn that a run wants worded."""

    kind: ClassVar[str] = "word"
    request: WordingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingStudy(Preset):
    """It has no settings."""

    needs: ClassVar[frozenset[str]] = frozenset()
    text: ClassVar[str] = INSTRUCTIONS
    contents: ClassVar[tuple[type[TaskContent], ...]] = (WordingTask,)
    practice_item: ClassVar[type[PracticeItem]] = PracticeItem
    waiting: ClassVar[str] = (
        "No turn waits for you. Leave this page open: when a run needs you, its turn appears here by itself."
    )

    def tasks(self, material: Material) -> Sequence[NewTask]:
        if material.more_come:
            raise InputError(
                "platform: has no use; people of a platform don't wait for turns, so name raters in its place"
            )
        return ()

    def further(self, state: StudyState, rater: int) -> Sequence[NewTask] | None:
        return ()  # a run may come at any time

    def to_come(self, state: StudyState, rater: int) -> float | None:
        return None

    def screens(
        self, task: Task, content: WordingTask, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]
    ) -> Sequence[StudyStep]:
        return [wording_screen(content.request)]

    def practice(self, item: PracticeItem) -> NewTask:
        raise InputError("wording has no practice: there is no right wording to compare with")

    def results(self, state: StudyState) -> Results:
        """Return a table of what was written; the turns themselves are in the runs that asked for them."""
        rows: list[tuple[Any, ...]] = []
        for answered in answered_tasks(state, WordingTask):
            request = answered.content.request
            for rater, judgements in answered.judgements.items():
                written = judgements[TURN].answer.get(TURN, "")
                said = (request.occasion, len(request.rejected), written)
                rows.append((rater, request.conversation, request.depth, *said))
        table = HumanTable(
            title="Turns that were worded",
            columns=("rater", "conversation", "depth", "reason", "rejected before", "written"),
            rows=rows,
            caption="An empty one was skipped. Whether it was sent is in the run.",
        )
        return Results(records=(), conversations=(), tables=[table] if rows else [])


def wording_screen(request: WordingRequest) -> StudyStep:
    """Return the screen on which *request* is worded."""
    blocks: list[Block] = []
    if request.history:
        blocks.append(Transcript(heading="The conversation so far", exchanges=request.history, asker="You"))
    own = [Passage(id=str(number), text=turn) for number, turn in enumerate(request.own_turns, start=1)]
    blocks.append(Passages(heading="How you write: your part of the script", passages=tuple(own)))
    if request.rejected:
        last = request.rejected[-1]
        blocks.append(Text(heading="This can't be sent", text=f"{last.text}\n\nWhy: {last.reason}."))
    fullest = request.intents[0]
    in_full = "" if fullest == request.question else f"\nIn full: {fullest}"
    blocks.append(Text(heading="What you want now", text=request.question + in_full))
    if request.meanings:
        meant = [f"“{text}” is: {meaning}" for text, meaning in request.meanings]
        blocks.append(Text(heading="What you mean by it", text="\n".join(meant)))
    if request.facts:
        known = [f"{fact.kind}: {fact.value}" for fact in request.facts]
        blocks.append(Text(heading="What you know, to be said if it is asked for", text="\n".join(known)))
    why = WHY[request.occasion]
    blocks.append(Text(heading="Why the script does not do", text=f"{why[0].upper()}{why[1:]}"))
    return StudyStep(
        id=TURN,
        heading="Say it in your words",
        blocks=tuple(blocks),
        fields=(Field(name=TURN, label="What do you say?", longest=1_000),),
        final="the run has gone on with it",
        alone=True,
        way_out=SKIP,
    )
