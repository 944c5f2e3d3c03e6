"""
How far two resolvers agree on drift: a run's verdicts against those of another resolver on the same turns.

    replay run pred                      # with any resolver: say, embedded
    python benchmarks/drift_agreement.py runs/pred-... \\
        --resolver '{llm: {adapter: openai, settings: {base_url: "http://localhost:8000/v1", model: m}}}'

The other resolver reads the questions after the very answers that the run has, so that nothing but the
resolver differs; no system is asked anything. Prints how often both, one or neither call a question invalid,
Cohen's kappa, how many of the expressions that both found are said to refer to the same words, and the first
questions on which they differ. Agreement is not accuracy: where they differ, a person has to look.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.history import PlayedTurn
from replay.core.record import TurnRecord
from replay.core.safety.consent import code_may_run
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.words import comparable_words
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.results.run import Run
from replay.scenario.reading import read_choices
from replay.statistics.interval import UndefinedNumber
from replay.statistics.rater_agreement import cohen

AT_A_TIME = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One question with both verdicts."""

    record: TurnRecord
    first: Drift
    second: Drift


async def judged_again(run: Run, choice: ResolverChoice) -> list[Pair]:
    """Every question of *run* that was compared, with the verdict of the resolver in *choice*."""
    drift = run.scenario().scenario.drift
    conversations = {one.id: one for one in run.conversations()}
    slots = asyncio.Semaphore(AT_A_TIME)
    with code_may_run():
        made = CoreferenceService(choice, workers=0)
    async with made as service:
        detector = DriftDetector(service=service, window=drift.window, background=drift.background)

        async def pair(record: TurnRecord, played: Sequence[PlayedTurn]) -> Pair:
            conversation = conversations[record.recorded_conversation]
            async with slots:
                found = (await detector.assess(conversation, record.depth, played)).drift
            assert record.drift is not None
            return Pair(record=record, first=record.drift, second=found)

        waiting = []
        for _, group in groupby(run.records(), key=lambda r: (r.system, r.policy, r.conversation)):
            played: list[PlayedTurn] = []
            for record in group:
                if record.drift is not None:
                    waiting.append(pair(record, tuple(played)))
                played.append(_played(conversations[record.recorded_conversation], record))
        return list(await asyncio.gather(*waiting))


def _played(conversation: Conversation, record: TurnRecord) -> PlayedTurn:
    turn = conversation.turns[record.depth - 1]
    return PlayedTurn(
        turn=turn, asked=record.asked, answer=turn.gold_answer if record.failed else record.answer
    )


def same_readings(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Of the recorded readings of expressions that both found: those that share a content word; and all."""
    alike = both = 0
    for pair in pairs:
        found = {(one.gold.mention.start, one.gold.mention.end): one.gold for one in pair.first.mentions}
        for one in pair.second.mentions:
            other = found.get((one.gold.mention.start, one.gold.mention.end))
            if other and other.antecedent and one.gold.antecedent:
                both += 1
                shared = set(comparable_words(other.antecedent)) & set(comparable_words(one.gold.antecedent))
                alike += bool(shared)
    return alike, both


def report(pairs: Sequence[Pair], shown: int) -> str:
    """What was found, as text."""
    judged = [pair for pair in pairs if None not in (pair.first.valid, pair.second.valid)]
    counts = Counter((pair.first.invalid, pair.second.invalid) for pair in judged)
    none = UndefinedNumber(reason="no question that both judged")
    kappa = cohen([(pair.first.invalid, pair.second.invalid) for pair in judged]).value() if judged else none
    alike, both = same_readings(pairs)
    lines = [
        f"{len(judged)} questions judged by both, {len(pairs) - len(judged)} not judged by one of them",
        f"both valid {counts[False, False]}, both invalid {counts[True, True]}, invalid by the run's alone "
        f"{counts[True, False]}, by the other alone {counts[False, True]}",
        f"Cohen's kappa: {kappa.reason if isinstance(kappa, UndefinedNumber) else f'{kappa:.3f}'}",
        f"{alike} of {both} expressions that both found refer to the same in the recorded history",
    ]
    differing = [pair for pair in judged if pair.first.valid != pair.second.valid]
    for pair in differing[:shown]:
        lines.append(f"\n{pair.record.conversation} {pair.record.depth}: {pair.record.recorded}")
        for name, drift in (("run", pair.first), ("other", pair.second)):
            told = "; ".join(
                f"{one.gold.mention.text or '...'}: {one.gold.antecedent} -> {one.predicted.antecedent}"
                for one in drift.mentions
            )
            lines.append(f"  {name:5} {'valid' if drift.valid else 'invalid'}  {told}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--resolver", required=True, help="the other one, as in a scenario")
    parser.add_argument("--show", type=int, default=10, help="differing questions at most")
    options = parser.parse_args(arguments)
    (chosen,) = read_choices([options.resolver], "--resolver")
    choice = ResolverChoice(name=chosen.name, settings=chosen.settings, folder=Path.cwd())
    print(report(asyncio.run(judged_again(Run(options.run), choice)), options.show))


if __name__ == "__main__":
    main()
