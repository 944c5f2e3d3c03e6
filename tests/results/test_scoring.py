"""Scoring part by part: the same scores as all at once, whatever the scorer has to know of the run."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from itertools import pairwise

import pytest

from replay.core.conversation import Conversation, Passage
from replay.core.errors import PluginError
from replay.core.record import TurnRecord
from replay.core.settings.choice import Choice
from replay.results import scoring
from replay.results.scoring import SCORERS as SCORERS_FACT, score_into
from replay.scorers.bertscore import IdfBertScore, bertscore
from replay.scorers.retrieval import hit_rate_scorer
from replay.scorers.scorer import CorpusScorer, Scorer, Unscored
from replay.statistics import score_column
from replay.store.reader import DATABASE, RunReader
from replay.store.rows import StoredScore
from replay.store.store import RunStore
from tests.store.test_store import record as made

SCORERS = ("f1", "bleu4", "heq_d", "hit_rate", "mrr", "unanswerable_f1", "latency")


def record(conversation: str, depth: int, policy: str, **changes: object) -> TurnRecord:
    answers = ("Alice Okafor sang it.", "In Port Ellis.", "CANNOTANSWER", "Her aunt Dilys did.")
    facts = {
        "edit": "kept",
        "answer": answers[(len(conversation) + depth) % 4],
        "gold_answers": (answers[depth % 4], answers[(depth + 1) % 4]),
        "gold_passages": ("p1",),
    }
    return made(conversation, depth, policy, **{**facts, **changes})


def records() -> list[TurnRecord]:
    """Only the last conversation's records hold passages: every other one has to know of it."""
    played = []
    for n in range(9):
        for policy in ("gold", "pred"):
            for depth in (1, 2, 3):
                passages = (Passage(id="p1", text="t"),) if n == 8 else ()
                played.append(record(f"c{n}", depth, policy, passages=passages))
                again = {"source": f"c{n}", "passages": passages}
                played.append(record(f"c{n}~2", depth, policy, **again))
    return played


@pytest.fixture
def store(tmp_path):
    facts = {"scenario": {"folder": str(tmp_path), "text": "", "source": ""}, "seed": 0}
    store = RunStore.create(tmp_path / "run", facts)
    store.add_conversations([Conversation(id=f"c{position}", turns=()) for position in range(9)])

    async def write() -> None:
        await asyncio.gather(*(store.write(one) for one in records()))

    asyncio.run(write())
    yield store
    store.close()


def stored(store: RunStore) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(store.folder / DATABASE)
    try:
        return connection.execute("SELECT * FROM score ORDER BY 1, 2, 3, 4, 5").fetchall()
    finally:
        connection.close()


def scored(store: RunStore, *names: str) -> list[tuple[object, ...]]:
    score_into(store, [Choice(name=name) for name in names])
    store.settle()
    return stored(store)


def test_without_a_scorer_no_record_is_read(store, monkeypatch):
    monkeypatch.setattr(RunReader, "records", lambda _: pytest.fail("records were read"))
    score_into(store, [])
    store.settle()
    assert store.fact(SCORERS_FACT) == []


@pytest.mark.parametrize("part", [1, 4, 10, 50])
def test_scores_are_the_same_however_many_records_are_scored_together(store, monkeypatch, part):
    at_once = scored(store, *SCORERS)
    monkeypatch.setattr(score_column, "PART", part)
    assert scored(store, *SCORERS) == at_once
    assert len(at_once) == len(SCORERS) * len(records())


def test_a_part_holds_whole_conversations(store, monkeypatch):
    monkeypatch.setattr(score_column, "PART", 4)
    parts = list(score_column.in_parts(store.records()))
    assert [len(part) for part in parts] == [6] * 18
    plays = [(one.conversation, one.policy) for part in parts for one in part]
    changes = sum(before != after for before, after in pairwise(plays))
    assert changes + 1 == len(set(plays)) == 36


def test_a_run_without_records_loses_its_old_scores(tmp_path):
    facts = {"scenario": {"folder": str(tmp_path), "text": "", "source": ""}}
    store = RunStore.create(tmp_path / "empty", facts)
    store.add_scores("f1", [StoredScore("c", "s", "p", 1, 0.5, None)])
    assert scored(store, "f1") == []
    store.close()


class Broken:
    """A scorer that can't load its model."""

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        raise PluginError("no model")

    def combine(self, observed: object) -> float:
        return 0.0

    @property
    def signature(self) -> str:
        return "broken"


def test_a_scorer_that_fails_at_the_first_records_leaves_earlier_scores_alone(store, monkeypatch):
    before = scored(store, "f1")
    monkeypatch.setattr(scoring, "build_scorers", lambda stored, folder: {"f1": Broken()})
    with pytest.raises(PluginError):
        score_into(store, [Choice(name="f1")])
    store.settle()
    assert stored(store) == before


def test_surveyed_part_by_part_a_retrieval_scorer_knows_which_systems_report_passages():
    without, with_some = record("a", 1, "p"), record("b", 1, "p", passages=(Passage(id="p1", text="t"),))
    scorer = hit_rate_scorer(k=1)
    assert isinstance(scorer, CorpusScorer)
    assert scorer.observe([without]) == [Unscored(reason="the system reports no passages")]
    knowing = scorer.survey([with_some]).survey([without])
    assert knowing.observe([without]) == [0.0]
    assert scorer.survey([without]).observe([with_some]) == [
        Unscored(reason="the system reports no passages")
    ]
    assert knowing.signature == scorer.signature


def test_surveyed_part_by_part_bertscore_weighs_by_the_references_of_the_whole_run():
    scorer = bertscore(idf=True)
    known: Scorer[float] = scorer
    played = records()
    for begin in range(0, len(played), 7):
        assert isinstance(known, IdfBertScore)
        known = known.survey(played[begin : begin + 7])
    assert known._idf_references(played[:1]) == scorer._idf_references(played)
    assert known._idf_references(played[:1]) != scorer._idf_references(played[:1])
    assert known.signature == scorer.signature
    assert scorer.survey([])._idf_references(played) == []


def test_without_idf_bertscore_needs_no_survey():
    assert not isinstance(bertscore(), CorpusScorer)
