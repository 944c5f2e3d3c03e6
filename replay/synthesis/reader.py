"""Documents as a scenario's data: conversations are made when they are read, and kept in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from replay.core.adapter import Adapter
from replay.core.conversation import Conversation
from replay.core.decoding import decoder_of
from replay.core.disk_cache import DiskCache, cache_path
from replay.core.errors import DatasetError, InputError
from replay.core.settings.plugins import NestedChoice, make_nested
from replay.synthesis.synthesis_settings import VERSION, Preset, SynthesisSettings, shares_of

_KEPT = decoder_of(list[Conversation])
_LARGEST_BYTES = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsReader:
    """Makes conversations from all files of a scenario's ``data.path`` together."""

    conversations: int | None = None
    """How many; as many as the documents carry when left out."""
    turns: int = 8
    """Questions of each."""
    seed: int = 0
    """Equal seeds and documents give equal conversations."""
    preset: Preset = "support"
    """Shares of kinds of questions, as those of a known data set."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Shares of kinds of questions in place of the preset's."""
    found_by: NestedChoice = "extractive"
    """Only what this system answers from the passage is asked; ``none`` asks all."""

    def __post_init__(self) -> None:
        self._settings()  # faults are told when the scenario is read

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return False: documents are named, or a data file in Markdown's clothes would be taken for one."""
        return False

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield the conversations that one file carries."""
        yield from self.read_set([path])

    def read_set(self, paths: Sequence[Path]) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations that all files carry together.

        Raises:
            DatasetError: they carry fewer than are asked for.
        """
        from replay.synthesis.synthesize import synthesize  # a plain run asks every reader what it knows

        cache = DiskCache(cache_path("synthesis.sqlite"), renew_damaged=True, largest_bytes=_LARGEST_BYTES)
        key = self._key(paths)
        kept = cache.get([key]).get(key)
        if kept is not None:
            yield from _KEPT.decode(kept)
            return
        system = None
        if self.found_by != "none":
            system = make_nested("adapters", self.found_by, Adapter, folder=Path.cwd())  # type: ignore[type-abstract]
        try:
            made = synthesize(paths, self._settings(), system=system, resolver=None).conversations
        except DatasetError:
            raise
        except InputError as error:
            raise DatasetError(str(error), path=str(paths[0])) from error
        cache.put({key: msgspec.json.encode(made)})
        yield from made

    def _settings(self) -> SynthesisSettings:
        return SynthesisSettings(
            conversations=self.conversations,
            turns=self.turns,
            seed=self.seed,
            shares=shares_of(self.preset, self.shares),
        )

    def _key(self, paths: Sequence[Path]) -> bytes:
        digest = hashlib.sha256(msgspec.json.encode((VERSION, self.found_by, self._settings())))
        for path in paths:
            digest.update(f"\0{path}\0".encode())
            try:
                digest.update(path.read_bytes())
            except OSError:
                continue  # whoever reads it says so
        return digest.digest()
