"""
Asks voters, and keeps what was asked and replied for the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from replay.core.adapter import ChatReply
from replay.core.asking.cached import CachingClient, Model, Question
from replay.core.asking.prompt import short_hash
from replay.core.asking.retries import RetryPolicy
from replay.core.asking.tally import AskTally
from replay.core.disk_cache import DiskCache
from replay.core.errors import AdapterError
from replay.core.record import Usage
from replay.core.settings.prices import cost_usd

UNFIT_AFTER = 3
"""So many replies in a row that can't serve, and a voter isn't asked any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAsk:
    """One ask and what came of it, as the verdict keeps it."""

    step: str
    prompt: str
    """Hash of the prompt; the verdict holds the texts."""
    parameters: Mapping[str, Any]
    """As sent; empty where the adapter takes none."""
    sample: str
    text: str | None = None
    """The raw reply; None if there was none."""
    error: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    cached: bool = False


class Asker:
    """Asks for one judge; what was asked, and what it took, is counted in its tally."""

    def __init__(self, judge: str, patience: RetryPolicy, cache: DiskCache, tally: AskTally) -> None:
        """*judge* is its name, *cache* where replies are kept."""
        self.cached: CachingClient = CachingClient(f'judge "{judge}": voter', patience, cache, tally)
        self.tally = tally
        self.unfit: dict[str, list[str]] = {}
        """Why replies of a voter could not serve, one after the other, since the last that could."""


def sample_name(repeat: int, sample: int, *, once: bool = False) -> str:
    """Return the label that tells a repeat's sample from others in cache keys."""
    return "once" if once else f"{repeat}/{sample}"


@dataclass(slots=True)
class VoterAsk:
    """The ``Ask`` of one voter and repeat about one case; remembers what was asked."""

    asker: Asker
    depth: int
    voter: Model
    repeat: int
    asked: list[JudgeAsk] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    """Texts of the prompts by hash."""

    async def __call__(
        self, step: str, prompt: str, *, parameters: Mapping[str, Any], sample: int = 0, once: bool = False
    ) -> ChatReply:
        sent = self.voter.sent_parameters(parameters)
        name = sample_name(self.repeat, sample, once=once)
        question = Question(
            model=self.voter, step=step, prompt=prompt, parameters=sent, depth=self.depth, sample=name
        )
        hash = short_hash(prompt)
        self.prompts[hash] = prompt
        asked = JudgeAsk(step=step, prompt=hash, parameters=sent, sample=name)
        try:
            reply, cached = await self.asker.cached.reply(question, once=once)
        except AdapterError as error:
            self.asked.append(replace(asked, error=f"{error.outcome}: {error}"))
            raise
        cost = cost_usd(reply, self.voter.prices)
        self.asked.append(replace(asked, text=reply.text, usage=reply.usage, cost_usd=cost, cached=cached))
        return reply

    @property
    def unfit(self) -> str | None:
        """Return why the voter is no longer asked, the last of several reasons; None if it still is."""
        reasons = self.asker.unfit.get(self.voter.name, [])
        return reasons[-1] if len(reasons) >= UNFIT_AFTER else None

    def mark_unusable(self, reason: str) -> None:
        """Count a reply that could not serve."""
        self.asker.unfit.setdefault(self.voter.name, []).append(reason)
        self.asker.tally.gave_up(f"{self.voter.name}: {reason}")

    def mark_usable(self) -> None:
        """Forget earlier replies that could not serve."""
        self.asker.unfit.pop(self.voter.name, None)
