"""
Drift in conversations that somebody else has played: which questions no longer meant the same after the
answers that the system really gave, and how they should have been put.

Nothing is asked. One side are the recorded conversations with their gold answers, the other the same ones
with a system's answers, and with the questions as they were put to it. Verdicts and wordings are those of the
policy ``rewrite``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from replay.core.adapter import ChatReply
from replay.core.conversation import Conversation, Turn
from replay.core.errors import InputError
from replay.core.history import PlayedTurn
from replay.core.record import TurnRecord
from replay.datasets.csv import CsvReader
from replay.datasets.loading import expand, playable_conversations, read_conversations
from replay.play.event_loop import run_for_library
from replay.play.turn_record import turn_record
from replay.runs.driver import drive
from replay.statistics.depth_table import DepthRow, depth_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDrift:
    """Verdicts on every question of the logs, in their order."""

    records: tuple[TurnRecord, ...]
    """One for each turn; ``asked`` is the question as it should have been put."""
    logged: tuple[Turn, ...]
    """Each as the log has it."""
    lengths: Mapping[str, int]
    """Turns of each conversation in the logs, by id."""
    left_out: int
    """Conversations of the gold data that the logs don't have."""
    signature: str
    """How drift was detected and questions were put."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """
        Yield one row per turn, with JSON values.

        ``conversation``, ``depth``, ``turn``, ``question`` (as recorded), ``asked`` (as in the log),
        ``valid`` (null where it was not judged, and ``not_judged`` says why), ``probability`` of drift,
        ``rewritten``, ``edit_note`` (why a rewriting failed), ``gold_answer``, ``answer``, ``mentions`` with
        their evidence.
        """
        for record, logged in zip(self.records, self.logged, strict=True):
            drift = record.drift
            assert drift is not None, "rewrite always judges"
            yield {
                "conversation": record.conversation,
                "depth": record.depth,
                "turn": record.turn,
                "question": record.recorded,
                "asked": logged.question,
                "valid": drift.valid,
                "not_judged": drift.not_judged,
                "probability": drift.probability,
                "rewritten": record.asked,
                "edit_note": record.edit_note,
                "gold_answer": next(iter(record.gold_answers), None),
                "answer": logged.gold_answer,
                "mentions": msgspec.to_builtins(drift.mentions),
            }

    def to_frame(self) -> pd.DataFrame:
        """Return the ``rows`` as a table; ``valid`` may be missing."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        return frame.astype({"valid": "boolean"}) if len(frame) else frame

    def by_depth(self) -> tuple[DepthRow, ...]:
        """Return the numbers of questions, judged and invalid ones at each turn depth, then in total."""
        if not self.records:
            return ()
        (group,) = depth_table(self.records, {}, self.lengths, resamples=0).groups
        return tuple(group.rows)

    def depth_table(self) -> pd.DataFrame:
        """Return ``by_depth`` as a table: ``depth`` (missing for all), ``questions``, counts of drift."""
        import pandas as pd

        names = ("depth", "turns", "drift_checked", "not_judged", "invalid", "invalid_share", "edited")
        rows = [{name: getattr(row, name) for name in names} for row in self.by_depth()]
        frame = pd.DataFrame(rows, columns=list(names))
        return frame.astype({"depth": "Int64"}).rename(columns={"turns": "questions", "edited": "rewritten"})


def drift(
    gold: Any,
    own: Any,
    *,
    drift: Mapping[str, Any] | None = None,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> LoggedDrift:
    """
    Detect drift in conversations that a system has already answered.

    Each conversation of *own* is compared with the one of the same id in *gold*. Works where an event loop
    runs, as in a notebook.

    Args:
        gold: The recorded conversations with gold answers: a file or glob pattern in any format that can be
            read, conversations, or a DataFrame with the columns of the ``csv`` reader (``conversation``,
            ``question``, ``answer``, ...).
        own: The same conversations with the system's answers, given in the same ways.
        drift: The settings of drift detection, as written in a scenario.
        on_progress: Told after each conversation how many are judged, and of how many.

    Returns:
        The verdict on each question, and counts by turn depth.

    Raises:
        InputError: a side can't be read, or the two don't go together.
        ScenarioError: *drift* has faults.
        ResolverError: the resolver failed.
    """
    pairs, left_out = _pairs(list(logged_conversations(gold, "gold")), list(logged_conversations(own, "own")))
    judging = _judge_pairs(pairs, left_out, drift, on_progress)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_for_library(judging)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run_for_library, judging).result()


def logged_conversations(given: Any, name: str) -> Iterable[Conversation]:
    """
    Return the conversations that are *given*: a file or glob pattern, conversations, or a DataFrame.

    Raises:
        InputError: they can't be read; a table is called *name* then.
    """
    if isinstance(given, str | Path):
        return read_conversations(expand([str(given)], Path.cwd()), reader=None, on_bad=None, limit=None)
    if hasattr(given, "itertuples"):
        given = list(CsvReader().read_frame(given, f"the table {name}"))
        for one in given:
            if isinstance(one, Exception):
                raise one
    return playable_conversations(given, on_bad=None, limit=None)


def _pairs(
    gold: Sequence[Conversation], own: Sequence[Conversation]
) -> tuple[list[tuple[Conversation, Conversation]], int]:
    """
    Return the two sides of each conversation, and how many are only in *gold*.

    Raises:
        InputError: there is a conversation, or a turn, that *gold* doesn't have.
    """
    recorded = {one.id: one for one in gold}
    for one in own:
        if one.id not in recorded:
            known = ", ".join(f'"{id}"' for id in list(recorded)[:3])
            raise InputError(
                f'conversation "{one.id}" of the logs is not in the gold data (which has {known}, ...); both '
                "sides have to call it the same"
            )
        if len(one.turns) > len(recorded[one.id].turns):
            raise InputError(
                f'conversation "{one.id}" has {len(one.turns)} turns in the logs and '
                f"{len(recorded[one.id].turns)} in the gold data; the turns of both sides have "
                "to be the same ones, of which the logs may lack the last"
            )
    return [(recorded[one.id], one) for one in own], len(gold) - len(own)


async def _judge_pairs(
    pairs: Sequence[tuple[Conversation, Conversation]],
    left_out: int,
    drift: Mapping[str, Any] | None,
    on_progress: Callable[[int, int], None],
) -> LoggedDrift:
    records: list[TurnRecord] = []
    logged: list[Turn] = []
    async with drive("rewrite", drift=drift) as loop:
        for done, (gold, own) in enumerate(pairs, 1):
            play = loop.begin(gold)
            for depth, turn in enumerate(own.turns, 1):
                planned = await loop.plan(play, depth)
                answer, recorded = turn.gold_answer, gold.turns[depth - 1]
                records.append(
                    turn_record(
                        gold,
                        depth,
                        planned,
                        "answered",
                        system="logs",
                        policy="rewrite",
                        reply=ChatReply(text=answer or ""),
                    )
                )
                logged.append(turn)
                # As it was really asked: what the history of the next question is.
                play.played.append(PlayedTurn(turn=recorded, asked=turn.question, answer=answer))
            on_progress(done, len(pairs))
        return LoggedDrift(
            records=tuple(records),
            logged=tuple(logged),
            lengths={gold.id: len(own.turns) for gold, own in pairs},
            left_out=left_out,
            signature=loop.signature,
        )
