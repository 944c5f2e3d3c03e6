"""
A panel: a judge with the voters it asks, how often and how politely, and what becomes of their votes. What
was asked and replied is kept for the verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from replay.core.adapter import ChatReply
from replay.core.asking.cached import CachingClient, Model, Question
from replay.core.asking.costs import AskTally, cost_usd
from replay.core.asking.prompt import PromptError, short_hash
from replay.core.asking.retries import RetryPolicy
from replay.core.disk_cache import DiskCache
from replay.core.errors import AdapterError
from replay.core.record import Usage
from replay.core.settings.plugin_bugs import attributed_to
from replay.scorers.judges.judge import Case, Judge, Opinion, Output, UnfitVoterError, Value, Voting
from replay.scorers.scorer import Unscored

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One entry of a scenario's ``judges``."""

    name: str
    judge: Judge
    voters: tuple[Model, ...]
    repeats: int = 1
    """Every case is judged so often; a turn's value is the mean over its repeats."""
    concurrency: int = 4
    """Cases judged at a time, each with one ask under way."""
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    cache: Path | None = None
    """Where replies are kept; None where they are not."""

    def column(self, output: Output) -> str:
        """Return the name of *output* in tables."""
        return f"{self.name}.{output.name}" if output.name else self.name

    @property
    def columns(self) -> dict[str, Output]:
        """The judge's outputs by what they are called in tables, in order."""
        return {self.column(output): output for output in self.judge.outputs}

    @property
    def signature(self) -> str:
        """Everything that can move the judge's numbers, as one word."""
        parts = [self.judge.signature, f"by:{'+'.join(voter.signature for voter in self.voters)}"]
        if len(self.voters) > 1:
            parts.append(f"votes:{'+'.join(dict.fromkeys(o.voting for o in self.judge.outputs))}")
        return "|".join([*parts, f"repeats:{self.repeats}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVote:
    """One voter's opinion with all that was asked for it."""

    voter: str
    values: Mapping[str, Value]
    evidence: Mapping[str, Any]
    flags: tuple[str, ...]
    asks: tuple[JudgeAsk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """All votes on a case, taken once."""

    values: Mapping[str, Value]
    votes: tuple[JudgeVote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a panel found about one case, and how."""

    case: Case
    values: Mapping[str, Value]
    """By the output's name."""
    repeats: tuple[Repeat, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts of the prompts by the hashes that the asks name."""

    @property
    def asks(self) -> tuple[JudgeAsk, ...]:
        """Every ask of every vote."""
        return tuple(a for repeat in self.repeats for vote in repeat.votes for a in vote.asks)

    @property
    def flags(self) -> Counter[str]:
        """Return how often its votes were flagged, by flag."""
        return Counter(f for repeat in self.repeats for vote in repeat.votes for f in vote.flags)


async def judge_case(panel: Panel, case: Case, asker: Asker) -> Verdict:
    """
    Return the panel's verdict on *case*; failed asks are reasons in it.

    Raises:
        PluginError: the judge raised what is no error of ours.
        RunStoppedError: a voter refuses our key and has answered nothing yet.
    """
    repeats: list[Repeat] = []
    prompts: dict[str, str] = {}
    for number in range(panel.repeats):
        votes = []
        for voter in panel.voters:
            ask = VoterAsk(asker, case.record.depth, voter, number)
            place = case.record.depth, case.record.conversation
            with attributed_to('judge "%s" fails at turn %s of conversation "%s"', panel.name, *place):
                opinion = await _opinion(panel.judge, case, ask)
            prompts |= ask.prompts
            votes.append(
                JudgeVote(
                    voter=voter.name,
                    values=opinion.values,
                    evidence=opinion.evidence,
                    flags=opinion.flags,
                    asks=tuple(ask.asked),
                )
            )
        values = {
            o.name: count_votes(o.voting, [vote.values[o.name] for vote in votes])
            for o in panel.judge.outputs
        }
        repeats.append(Repeat(values=values, votes=tuple(votes)))
    values = {
        o.name: count_votes("mean", [repeat.values[o.name] for repeat in repeats])
        for o in panel.judge.outputs
    }
    return Verdict(case=case, values=values, repeats=tuple(repeats), prompts=prompts)


async def _opinion(judge: Judge, case: Case, ask: VoterAsk) -> Opinion:
    if (why := ask.unfit) is not None:
        return _same(judge, why)
    try:
        opinion = await judge.opinion(case, ask)
    except PromptError as error:
        return _same(judge, "the prompt can't be filled in", prompt_error=str(error))
    except UnfitVoterError as error:
        ask.mark_unusable(str(error))
        return _same(judge, str(error))
    ask.mark_usable()
    return opinion


def _same(judge: Judge, reason: str, **evidence: Any) -> Opinion:
    return Opinion(values={o.name: Unscored(reason=reason) for o in judge.outputs}, evidence=evidence)


def count_votes(voting: Voting, votes: Sequence[Value]) -> Value:
    """
    Return the panel's value from several votes; votes without a value don't count.

    By majority an even split is unscored. If no vote has a value, the most common reason is given.
    """
    values = [vote for vote in votes if not isinstance(vote, Unscored)]
    if not values:
        reasons = Counter(vote.reason for vote in votes if isinstance(vote, Unscored))
        return Unscored(reason=reasons.most_common(1)[0][0])
    if voting == "mean":
        return math.fsum(values) / len(values)
    yes, no = values.count(1.0), values.count(0.0)
    return Unscored(reason="the voters are evenly split") if yes == no else float(yes > no)
