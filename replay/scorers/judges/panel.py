"""
A panel: a judge with the voters it asks, how often and how politely, and what becomes of their votes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.core.asking.cached import Model
from replay.core.asking.prompt import PromptError
from replay.core.asking.retries import RetryPolicy
from replay.core.settings.plugin_bugs import attributed_to
from replay.scorers.judges.asking import Asker, JudgeAsk, VoterAsk
from replay.scorers.judges.judge import Case, Judge, Opinion, Output, UnfitVoterError, Value, Voting
from replay.scorers.scorer import Unscored


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
