"""
What ``resolver: llm`` asks and takes: calls, tokens, and how much of its prompts a server can reuse.

    python benchmarks/llm_resolver.py [--dialogues benchmarks/history-drift/test.json]

A server on this machine replies what a careful model would: to a dozen cases, each a way in which models
quote or users ask, and then to every question of labelled dialogues, from their labels. For each case it
prints the verdict, the question as ``rewrite`` asks it, and the calls. A token counts as four characters. A
server with a prefix cache reuses of each prompt what it shares with the beginning of an earlier one; "fixed"
is what all prompts share. The same file runs on other versions of the program: replies hold the fields of
both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from bisect import bisect
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from replay.core.asking.costs import CHARACTERS_PER_TOKEN
from replay.core.conversation import Conversation, Turn
from replay.core.history import PlayedTurn
from replay.core.safety.consent import code_may_run
from replay.coreference.drift import DriftDetector
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.policies.rewrite import RewritePolicy
from replay.scenario.sections import DriftSection

Said = tuple[str, str, str]
"""A question with the recorded and the system's own answer."""


def reply(
    *references: tuple[str, str | None, str | None, bool], standalone: str | None = None, meaning: str = ""
) -> str:
    """Return what a model replies; a reference is its text, the two quotes, and whether they are the same."""
    names = ("text", "recorded", "own", "same")
    same = all(one[3] for one in references)
    return json.dumps(
        {
            "references": [dict(zip(names, one, strict=True)) for one in references],
            "standalone": standalone,
            "meaning": meaning or ("same" if same else "other"),
            "same_meaning": same,
        }
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """One question, after what was said, with what the model replies to each ask."""

    name: str
    said: Sequence[Said]
    question: str
    replies: Sequence[str]
    valid: bool | None
    """What the verdict has to be."""
    asked: str
    """How ``rewrite`` has to ask it."""


LONG = "It has been like that for years, and people keep telling us how much they enjoy it. " * 12
PLANS = "| Plan | Price | Space |\n|---|---:|---|\n| Basic plan | $10 | 5 GB |\n| Pro plan | $30 | 1 TB |"
SHE = ("she", "Ann Lee", "Bob Ray", False)
BORN = "Where was Ann Lee born?"
WHO: Sequence[Said] = [("Who sang it?", "Ann Lee sang it.", "Bob Ray sang it.")]

CASES = (
    Case(
        name="Markdown",
        said=[
            ("A bike for trains?", "Take the **Trekker 2** [folding bike](/trekker).", "Take the *City 5*.")
        ],
        question="How much is it?",
        replies=[
            reply(
                ("it", "the Trekker 2 folding bike", "City 5", False),
                standalone="How much is the Trekker 2 folding bike?",
            )
        ],
        valid=False,
        asked="How much is the Trekker 2 folding bike?",
    ),
    Case(
        name="a table's row",
        said=[("Which plans are there?", PLANS, "| Plan | Price |\n|---|---|\n| Free plan | $0 |")],
        question="Can I get the cheapest?",
        replies=[
            reply(
                ("the cheapest", "Basic plan, $10", "Free plan | $0", False),
                standalone="Can I get the Basic plan for $10?",
            )
        ],
        valid=False,
        asked="Can I get the Basic plan for $10?",
    ),
    Case(
        name='a list joined by "and"',
        said=[("What is left?", "- Red bike, 20 inch\n- Blue bike, 24 inch", "The green scooter is left.")],
        question="Are they new?",
        replies=[
            reply(
                ("they", "the red bike and the blue bike", "The green scooter", False),
                standalone="Are the red bike and the blue bike new?",
            )
        ],
        valid=False,
        asked="Are the red bike and the blue bike new?",
    ),
    Case(
        name="dashes",
        said=[("Who leads it?", "Ann Lee — the founder’s sister.", "Ann Lee, who is the founder's sister.")],
        question="Since when does she?",
        replies=[
            reply(
                ("she", "Ann Lee - the founder's sister", "Ann Lee", True),
                standalone="Since when does Ann Lee, the founder's sister, lead it?",
            )
        ],
        valid=True,
        asked="Since when does she?",
    ),
    Case(
        name="null and null",
        said=[("Hello!", "Hello, how can I help?", "Hi there, what can I do for you?")],
        question="When does it open?",
        replies=[reply(("it", None, None, True))],
        valid=None,
        asked="When does it open?",
    ),
    Case(
        name="nothing to point at",
        said=WHO,
        question="What is a day pass?",
        replies=[reply()],
        valid=True,
        asked="What is a day pass?",
    ),
    Case(
        name="Why?",
        said=[("What is new?", "We moved the office to Porto.", "We closed the office.")],
        question="Why?",
        replies=[
            reply(
                ("", "We moved the office to Porto", "We closed the office", False),
                standalone="Why did you move the office to Porto?",
            )
        ],
        valid=False,
        asked="Why did you move the office to Porto?",
    ),
    Case(
        name="Yes please",
        said=[("Trains to Porto?", "Shall I book the 9:40 train?", "They take two hours.")],
        question="Yes please",
        replies=[
            reply(
                ("", "book the 9:40 train", None, False),
                standalone="Yes please, book the 9:40 train to Porto",
                meaning="nothing",
            )
        ],
        valid=False,
        asked="Yes please, book the 9:40 train to Porto",
    ),
    Case(
        name="do that",
        said=[("We are six.", "I can reserve a table for six.", "I can call two taxis.")],
        question="OK, do that",
        replies=[
            reply(
                ("that", "reserve a table for six", "call two taxis", False),
                standalone="OK, reserve a table for six",
            )
        ],
        valid=False,
        asked="OK, reserve a table for six",
    ),
    Case(
        name="long, named ten exchanges ago",
        said=[
            *[(f"And hall {n}?", f"Hall {n}: {LONG}", f"Hall {n}, of course: {LONG}") for n in range(30)],
            *WHO,
            *[(f"Room {n}?", f"Room {n} is open.", f"Room {n} is shut.") for n in range(10)],
        ],
        question="Where was she born?",
        replies=[reply(SHE, standalone=BORN)],
        valid=False,
        asked=BORN,
    ),
    Case(
        name="bad JSON, then good",
        said=WHO,
        question="Where was she born?",
        replies=['{"references": [{"text": "she", ]}', reply(SHE, standalone=BORN)],
        valid=False,
        asked=BORN,
    ),
    Case(
        name="a wording without the name, then with it",
        said=WHO,
        question="Where was she born?",
        replies=[reply(SHE, standalone="Where was the singer born?"), reply(SHE, standalone=BORN)],
        valid=False,
        asked=BORN,
    ),
)


@dataclass
class Model:
    """A chat server on this machine that replies what it is told."""

    address: str = ""
    replies: Sequence[str] = ()
    """To the next asks; the last one to all that follow."""
    prompts: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    _next: int = 0

    def tell(self, replies: Sequence[str]) -> None:
        """Let it give *replies* from now on."""
        self.replies, self._next = replies, 0

    async def answer(self, request: web.Request) -> web.Response:
        """Give the next reply."""
        self.prompts.append((await request.json())["messages"][-1]["content"])
        text = self.replies[min(self._next, len(self.replies) - 1)]
        self._next += 1
        self.said.append(text)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return web.json_response({"model": "m", "choices": [choice]})


@asynccontextmanager
async def serving() -> AsyncIterator[Model]:
    """A model that serves as long as the block lasts."""
    model, app = Model(), web.Application()
    app.router.add_post("/v1/chat/completions", model.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    model.address = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield model
    finally:
        await runner.cleanup()


@asynccontextmanager
async def rewriting(model: Model) -> AsyncIterator[RewritePolicy]:
    """The policy ``rewrite`` with *model* as resolver, as a scenario that sets nothing else has it."""
    settings = {"adapter": "openai", "settings": {"base_url": model.address, "model": "m"}, "cache": False}
    with code_may_run():
        service = CoreferenceService(
            ResolverChoice(name="llm", settings=settings, folder=Path.cwd()), workers=0
        )
    async with service:
        window = DriftSection(resolver="llm").window
        yield RewritePolicy(detector=DriftDetector(service=service, window=window))


def turn_after(said: Sequence[Said], question: str) -> tuple[Conversation, int, list[PlayedTurn]]:
    """Return what a policy plans *question* from: the conversation, its depth, and what was played before."""
    turns = [Turn(id=f"{n}", question=asked, gold_answers=(gold,)) for n, (asked, gold, _) in enumerate(said)]
    last = Turn(id="last", question=question, gold_answers=("Well.",))
    played = [
        PlayedTurn(turn=turn, asked=turn.question, answer=own)
        for turn, (_, _, own) in zip(turns, said, strict=True)
    ]
    return Conversation(id="case", turns=(*turns, last)), len(said) + 1, played


def labelled(turn: Mapping[str, Any]) -> str:
    """Return what a model replies that sees a dialogue's labels."""
    if not turn["leans_on"]:
        return reply()
    own = turn["leans_on_own"] or [None]
    same = bool(turn["means_the_same"]) and own[0] is not None
    return reply(
        ("", turn["leans_on"][0], own[0], same),
        standalone=turn["standalone"],
        meaning="nothing" if own[0] is None else "",
    )


def shared_start(first: str, second: str) -> int:
    """Return with how many of the same characters both begin."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(first), len(second)))


def reused(prompts: Sequence[str]) -> float:
    """Return the share of the characters of *prompts* with which an earlier one begins, too."""
    shared = 0
    earlier: list[str] = []
    for prompt in prompts:
        # Whoever shares most stands beside it in the alphabet.
        at = bisect(earlier, prompt)
        shared += max((shared_start(prompt, one) for one in earlier[max(0, at - 1) : at + 1]), default=0)
        earlier.insert(at, prompt)
    return shared / sum(map(len, prompts))


def numbers(name: str, model: Model, judged: int, questions: int) -> str:
    """Return what *model* was asked, in a line."""
    characters = sum(map(len, model.prompts))
    fixed = shared_start(min(model.prompts), max(model.prompts)) * len(model.prompts) / characters
    return (
        f"{name}: {questions} questions, {judged} judged, {len(model.prompts)} calls, "
        f"{characters // CHARACTERS_PER_TOKEN:,} prompt tokens "
        f"({characters / CHARACTERS_PER_TOKEN / len(model.prompts):.0f} a call), "
        f"{sum(map(len, model.said)) / CHARACTERS_PER_TOKEN / len(model.said):.0f} reply tokens a call, "
        f"fixed {100 * fixed:.0f} %, reusable {100 * reused(model.prompts):.0f} %"
    )


async def main(dialogues: Sequence[dict[str, Any]]) -> None:
    async with serving() as model, rewriting(model) as policy:
        judged = 0
        for case in CASES:
            before = len(model.prompts)
            model.tell(case.replies)
            planned = await policy.plan(*turn_after(case.said, case.question))
            assert planned.drift is not None
            valid = planned.drift.valid
            judged += valid is not None
            verdict = {True: "valid", False: "invalid", None: "not judged"}[valid]
            right = (
                "" if (valid, planned.question) == (case.valid, case.asked) else "   <- not as it should be"
            )
            print(
                f"{case.name:42} {verdict:11} {len(model.prompts) - before} calls  {planned.question}{right}"
            )
        print(numbers("cases", model, judged, len(CASES)))
    if not dialogues:
        return
    async with serving() as model, rewriting(model) as policy:
        judged = questions = 0
        for dialogue in dialogues:
            turns = dialogue["turns"]
            said = [(turn["question"], turn["gold_answer"], turn["own_answer"]) for turn in turns]
            for depth in range(1, len(turns)):
                model.tell([labelled(turns[depth])])
                planned = await policy.plan(*turn_after(said[:depth], turns[depth]["question"]))
                questions += 1
                judged += planned.drift is not None and planned.drift.valid is not None
        print(numbers("dialogues", model, judged, questions))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dialogues", type=Path, help="a file of history-drift")
    file = parser.parse_args().dialogues
    asyncio.run(main(json.loads(file.read_text("utf-8")) if file else []))
