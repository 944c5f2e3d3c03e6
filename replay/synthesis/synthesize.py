"""Conversations made from documents, without a model: read, asked about, filtered, and put in order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from replay.core.adapter import Adapter
from replay.core.conversation import Conversation
from replay.core.errors import DatasetError, InputError
from replay.coreference.reading.resolver import Resolver
from replay.synthesis.documents.read import LARGEST_MB, DocumentReading
from replay.synthesis.filters import keep_answered, mark_references
from replay.synthesis.flow import ConversationWriter, Shares, reached_shares, too_few
from replay.synthesis.pool import Area, pool_of

Preset = Literal["quac", "ikat", "support"]

PRESETS: dict[Preset, Shares] = {
    "quac": Shares(anaphora=0.6, ellipsis=0.2, unanswerable=0.15, shift=0.02, yes_no=0.36),
    "ikat": Shares(anaphora=0.5, ellipsis=0.16, unanswerable=0, shift=0.3, yes_no=0.21),
    "support": Shares(),
}
"""The first two as ``replay data stats`` finds them in CANARD and iKAT 2024, cut so that they sum to 1."""


VERSION = 2
"""Raised whenever equal documents and settings give other conversations."""


def shares_of(preset: str, given: Mapping[str, float]) -> Shares:
    """
    Return the shares of *preset*, with those that are *given* in their place.

    Raises:
        ValueError: there is no such preset or share, or a number is not from 0 to 1.
    """
    found = next((shares for name, shares in PRESETS.items() if name == preset), None)
    if found is None:
        raise ValueError(f'there is no preset "{preset}"; choose {", ".join(PRESETS)}')
    for name in given:
        if name not in Shares.__struct_fields__:
            raise ValueError(f'there is no share "{name}"; choose {", ".join(Shares.__struct_fields__)}')
    return msgspec.structs.replace(found, **given)


class SynthesisSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is made."""

    conversations: int | None = 50
    """None for as many as the documents carry."""
    turns: int = 8
    """Questions of each conversation."""
    seed: int = 0
    shares: Shares = Shares()
    largest_mb: float = LARGEST_MB
    """Larger files are left out; millions of bytes."""

    def __post_init__(self) -> None:
        for name in ("conversations", "turns"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; give at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """Conversations, and what became of everything that could have been in them."""

    conversations: list[Conversation]
    sources: list[str]
    """Paths of the documents that were read."""
    areas: list[Area]
    """All that can be asked of them, before *system* has a say."""
    sections: int
    questions: int
    """How many could be asked after filtering, several of one sentence among them."""
    rejected: Counter[str]
    """Questions and passages that were left out, by reason."""
    unread: list[DatasetError]
    """Files that couldn't be used."""
    references: Counter[str] = field(default_factory=Counter)
    """How often the resolver found what a question leans on: "pronoun found", "ellipsis not found" ..."""
    reached: Mapping[str, float] = field(default_factory=dict)
    """The shares that were reached, by the names of ``Shares``."""
    signature: str = ""
    """Hash of the settings and of the documents' texts: equal ones give equal conversations."""


def synthesize(
    paths: Iterable[Path], settings: SynthesisSettings, *, system: Adapter | None, resolver: Resolver | None
) -> Synthesis:
    """
    Return conversations that the documents of *paths* carry; equal settings and files give equal ones.

    Args:
        paths: Files, folders and patterns.
        settings: How many, how long, of what kinds.
        system: Only what this system answers from a question's passage is asked; None asks all.
        resolver: Marks whether it finds what each question leans on; None marks nothing.

    Raises:
        DatasetError: none of the files can be used; of several reasons the first is given.
        InputError: the documents carry fewer conversations than are asked for; the message says how many.
        AdapterError: *system* can't be asked.
    """
    reading = DocumentReading(msgspec.json.encode((VERSION, settings)))
    pool = pool_of(reading.documents(paths, settings.largest_mb), least=settings.turns)
    if not reading.sources:
        raise reading.unread[0] if reading.unread else InputError("no documents were found; check the paths")
    areas = pool.areas
    if system is not None:
        # In a thread of its own, since whoever reads a scenario's data may be in an event loop already.
        with ThreadPoolExecutor(1) as thread:
            areas = thread.submit(asyncio.run, keep_answered(areas, system, pool.rejected)).result()
    writer = ConversationWriter(
        areas=areas, turns=settings.turns, shares=settings.shares, rng=random.Random(settings.seed)
    )
    made = list(islice(writer.conversations(), settings.conversations))
    if len(made) < (settings.conversations or 1):
        raise too_few(len(made), settings.conversations, settings.turns)
    references: Counter[str] = Counter()
    if resolver is not None:
        made, references = mark_references(made, resolver)
    return Synthesis(
        conversations=made, sources=reading.sources, areas=pool.areas, sections=pool.sections,
        questions=sum(len(area.facts) for area in areas), rejected=+pool.rejected, unread=reading.unread,
        references=references, reached=reached_shares(made), signature=reading.signature,
    )  # fmt: skip
