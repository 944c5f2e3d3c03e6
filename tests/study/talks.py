"""
The smallest study with talks: one preset, systems that do as they are told, and a process that serves it.

Run as a program it is ``replay`` with this preset among the others. It kills itself as soon as the method
that ``DIE_AFTER`` names has returned, if that is set: ``replay.study.store:StudyStore.ask``. The coroutine
that ``NEVER_ENDS`` names goes on until the program is killed.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from replay.core.conversation import Conversation, Passage
from replay.core.history import Exchange
from replay.study.preset import Field, Option, Preset, Results, StudyStep, TaskContent, Transcript
from replay.study.running.study_file import PRESETS
from replay.study.tasks import NewTask, TalkPlan
from tests.study.serving import Browser, Served
from tests.waiting import until_async

PASSAGES = (
    Passage(id="p1", text="The dog sleeps in the kitchen. The cat sleeps on the roof."),
    Passage(id="p2", text="The dog is called Rex. He was born in 1999."),
)


class PetTalk(TaskContent, frozen=True, kw_only=True):
    """All talks are alike."""

    kind: ClassVar[str] = "talk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat(Preset):
    """Talks with each system, as often as there are raters for them; then one question."""

    fewest: int = 1
    most: int = 2
    opening: str | None = None
    opening_fixed: bool = False
    raters: int | None = 1
    needs: ClassVar[frozenset[str]] = frozenset({"systems"})
    contents: ClassVar[tuple[type[TaskContent], ...]] = (PetTalk,)
    instructions: ClassVar[str] = "Talk with it."

    def tasks(self, material) -> Sequence[NewTask]:
        return [PetTalk().task(f"pets-{name}", system=name, raters=self.raters) for name in material.systems]

    def practice(self, item: Any) -> NewTask:
        raise NotImplementedError

    def talk(self, task) -> TalkPlan:
        return TalkPlan(
            system=task.system,
            about=Conversation(id=task.conversation, turns=(), title="Pets", passages=PASSAGES),
            shown=("You know nothing of these pets.",),
            opening=self.opening,
            opening_fixed=self.opening_fixed,
            fewest=self.fewest,
            most=self.most,
            hint="Ask about what was said before.",
        )

    def screens(self, task, content, turns, answers) -> Sequence[StudyStep]:
        said = tuple(Exchange(question=one.question, answer=one.answer) for one in turns)
        options = (Option(value=1, label="Yes"), Option(value=0, label="No"))
        return [
            StudyStep(
                id="good",
                heading="Was it good?",
                blocks=(Transcript(heading="What was said", exchanges=said),),
                fields=(Field(name="good", label="Was it?", options=options),),
            )
        ]

    def results(self, state) -> Results:
        return Results(records=(), conversations=())


def study_file(*systems: Mapping[str, Any], preset: Mapping[str, Any] | None = None, **more: Any) -> str:
    """A study with these *systems*, whose names are made where they have none."""
    named = [{"name": f"system-{number}", **system} for number, system in enumerate(systems)]
    content = {
        "name": "Pets",
        "preset": {"chat": dict(preset or {})},
        "systems": named,
        "limits": {"between_messages_s": 0},
        **more,
    }
    return json.dumps(content)


async def answered(study: Served, browser: Browser) -> None:
    """Wait for what is under way, and look."""
    talks = study.store.talks
    await until_async(lambda: all(turn.outcome for turns in talks().values() for turn in turns))
    await browser.open("/rate")


async def ask(study: Served, browser: Browser, question: str) -> None:
    """Ask, wait for the answer, and go on to the judging after the last one."""
    await browser.send("/rate/talk/ask", {"question": question})
    await answered(study, browser)
    if "That was the last question" in browser.html:
        await browser.send("/rate/talk/end")


def http_system(address: str, **settings: Any) -> dict[str, Any]:
    """A system at *address* that is sent the question and the history."""
    body = {"question": "{{question}}", "history": "{{history}}"}
    return {
        "adapter": "http",
        "settings": {"url": f"{address}/chat", "body": body, "answer": "answer", **settings},
    }


def known() -> None:
    """The preset is one of those that a study file can name."""
    PRESETS["chat"] = Chat  # type: ignore[index]


def owner_and_name(method: str) -> tuple[Any, str]:
    module, _, path = method.partition(":")
    owner, name = path.split(".")
    return getattr(importlib.import_module(module), owner), name


def die_after(method: str) -> None:
    owner, name = owner_and_name(method)
    original = getattr(owner, name)

    def then_die(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, then_die)


def never_end(method: str) -> None:
    async def wait(*args: Any, **kwargs: Any) -> None:
        await asyncio.Event().wait()

    setattr(*owner_and_name(method), wait)


if __name__ == "__main__":
    from replay.cli import run_cli

    known()
    if "DIE_AFTER" in os.environ:
        die_after(os.environ["DIE_AFTER"])
    if "NEVER_ENDS" in os.environ:
        never_end(os.environ["NEVER_ENDS"])
    run_cli()
