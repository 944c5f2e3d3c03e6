"""Conversations from documents by a model: as many as are asked for, or what they would cost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from replay.core.asking.cached import Model
from replay.core.asking.costs import CHARACTERS_PER_TOKEN, AskTally, CostEstimate
from replay.core.asking.retries import open_endpoints
from replay.core.conversation import Conversation
from replay.core.disk_cache import cache_path
from replay.core.errors import DatasetError, InputError
from replay.datasets.near_duplicates import duplicate_turns
from replay.play.event_loop import gather_or_cancel
from replay.synthesis.documents.read import DocumentReading
from replay.synthesis.flow import too_few
from replay.synthesis.model.dialogues import (
    DialogueMaker,
    ModelArea,
    WriterPrompts,
    model_areas,
    writer_prompts,
)
from replay.synthesis.model.writer import JsonWriter, NotCachedError
from replay.synthesis.synthesis_settings import LARGEST_MB, Shares

CACHE = "synthesis.db"
COMPLETION_TOKENS = 60
"""Of a reply, for an estimate."""
_EXCHANGE_CHARACTERS = 200
"""Of a question with its answer, for an estimate."""
REPEATED = "most of its turns repeat earlier ones"


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is made with a model."""

    conversations: int = 50
    turns: int = 8
    method: Literal["student", "inpainting"] = "student"
    """``student`` asks a teacher; ``inpainting`` puts questions to sentences."""
    seed: int = 0
    shares: Shares = Shares()
    """Drawn for each question, and asked of the model; what comes of it is measured in the card."""
    attempts: int = 3
    """How often one thing is asked for, before it is given up."""
    concurrency: int = 4
    """Conversations that are made at a time."""
    largest_mb: float = LARGEST_MB

    def __post_init__(self) -> None:
        for name in ("conversations", "turns", "attempts", "concurrency"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSynthesis:
    """Conversations that a model made, and what became of everything else."""

    conversations: list[Conversation]
    sources: list[str]
    """The documents' paths."""
    areas: int
    """Parts of documents that can carry a conversation."""
    rejected: Counter[str]
    """Questions and conversations that were left out, by reason."""
    unread: list[DatasetError]
    """Files that couldn't be used."""
    tally: AskTally
    """What was asked, and what it took."""
    signature: str
    """Hash of settings, prompts, model and documents."""


def synthesize_with_model(
    paths: Iterable[Path],
    settings: ModelSettings,
    *,
    model: Model,
    prompts: WriterPrompts | None = None,
    cache: Path | Literal["user"] | None = "user",
) -> ModelSynthesis:
    """
    Return conversations that *model* makes of the documents of *paths*.

    Every reply is kept in *cache*: who is interrupted and calls again pays for none twice.

    Args:
        paths: Files, folders and patterns.
        settings: How many, how long, in which way.
        model: Who is asked.
        prompts: Ours by default.
        cache: A file for replies; ``user`` for the user's cache, None for none.

    Raises:
        InputError: the documents carry fewer conversations than are asked for; the message says how many.
        RunStoppedError: the endpoint refuses our key and has answered nothing yet.
        PluginError: the extra ``synthesis`` is not installed.
    """
    reading, areas, maker = _prepare(paths, settings, model, prompts or writer_prompts(), cache)
    made = asyncio.run(_make_all(maker, areas, settings))
    repeated = Counter(name for name, _ in duplicate_turns(made))
    kept = [one for one in made if 2 * repeated[one.id] <= len(one.turns)]
    maker.rejected[REPEATED] += len(made) - len(kept)
    return ModelSynthesis(
        conversations=kept,
        sources=reading.sources,
        areas=len(areas),
        rejected=+maker.rejected,
        unread=reading.unread,
        tally=maker.writer.tally,
        signature=reading.signature,
    )


def estimate_model_synthesis(
    paths: Iterable[Path],
    settings: ModelSettings,
    *,
    model: Model,
    prompts: WriterPrompts | None = None,
    cache: Path | Literal["user"] | None = "user",
) -> CostEstimate:
    """
    Return what ``synthesize_with_model`` would ask, without asking anything; cached replies cost nothing.

    Tokens are guessed by the lengths of prompts, documents and usual answers.

    Raises:
        InputError: the documents carry fewer conversations than are asked for.
    """
    prompts = prompts or writer_prompts()
    _, areas, maker = _prepare(paths, settings, model, prompts, cache, asks_nothing=True)
    tally = maker.writer.tally
    each = 2 if settings.method == "student" else 1
    student, teacher, inpainting = prompts.student, prompts.teacher, prompts.inpainting
    asked_with = (student, teacher) if each == 2 else (inpainting,)
    asks = prompt_characters = settled = 0

    async def follow(area: ModelArea) -> None:
        nonlocal asks, prompt_characters, settled
        before = tally.cached
        try:
            await _make(maker, area, settings)
            settled += 1
        except NotCachedError:
            shown = sum(len(section.text) for section in area.sections) if each == 2 else 0
            fixed = sum(len(prompt.text) for prompt in asked_with)
            done = tally.cached - before
            left = max(1, each * settings.turns - done)
            for turn in range(done // each, settings.turns):
                prompt_characters += fixed + shown + each * turn * _EXCHANGE_CHARACTERS
            asks += left

    async def follow_all() -> None:
        for area in areas[: settings.conversations]:
            await follow(area)

    asyncio.run(follow_all())
    prompt_tokens = round(prompt_characters / CHARACTERS_PER_TOKEN)
    completion = asks * COMPLETION_TOKENS
    return CostEstimate(
        name=model.name,
        cases=settings.conversations,
        settled=settled,
        asks=asks,
        asks_at_most=asks * settings.attempts * (3 if each == 2 else 1),
        cached=tally.cached,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion,
        cost_usd=model.prices.cost_usd(prompt_tokens, completion) if model.prices else None,
    )


def _prepare(
    paths: Iterable[Path], settings: ModelSettings, model: Model, prompts: WriterPrompts,
    cache: Path | Literal["user"] | None, *, asks_nothing: bool = False,
) -> tuple[DocumentReading, list[ModelArea], DialogueMaker]:  # fmt: skip
    """
    Return what was read, the areas of it, and who makes conversations of them.

    Raises:
        InputError: the documents carry too little.
    """
    hashes = (prompts.student.hash, prompts.teacher.hash, prompts.inpainting.hash, model.signature)
    reading = DocumentReading(msgspec.json.encode(settings) + "".join(hashes).encode())
    documents = reading.documents(paths, settings.largest_mb)
    areas = model_areas(documents, turns=settings.turns, rng=random.Random(settings.seed))
    if not reading.sources:
        reasons = "; ".join(map(str, reading.unread[:3]))
        raise InputError(reasons or "no documents were found; check the paths")
    if len(areas) < settings.conversations:
        raise too_few(len(areas), settings.conversations, settings.turns)
    file = cache_path(CACHE) if cache == "user" else cache
    writer = JsonWriter(model=model, attempts=settings.attempts, cache=file, asks_nothing=asks_nothing)
    maker = DialogueMaker(
        writer=writer, prompts=prompts, turns=settings.turns, shares=settings.shares, seed=settings.seed
    )
    return reading, areas, maker


async def _make_all(
    maker: DialogueMaker, areas: list[ModelArea], settings: ModelSettings
) -> list[Conversation]:
    """Make conversations of *areas*, in their order, until there are enough; some give none."""
    made: dict[int, Conversation] = {}
    following = iter(range(len(areas)))
    open_places = settings.conversations

    async def work() -> None:
        nonlocal open_places
        while open_places > 0 and (at := next(following, None)) is not None:
            open_places -= 1
            conversation = await _make(maker, areas[at], settings)
            if conversation is None:
                open_places += 1
            else:
                made[at] = conversation

    async with open_endpoints([maker.writer.model]):
        await gather_or_cancel(work() for _ in range(settings.concurrency))
    return [made[at] for at in sorted(made)]


async def _make(maker: DialogueMaker, area: ModelArea, settings: ModelSettings) -> Conversation | None:
    return await (maker.ask_teacher(area) if settings.method == "student" else maker.inpaint(area))
