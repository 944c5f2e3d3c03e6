"""The resolver behind worker processes, batches and a cache."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from replay.core.errors import ReadingError, ResolverError
from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.verdict import compare_hard, compare_strict
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.coreference.service.worker import READINGS
from replay.coreference.service.worker_pool import WorkerPool
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("code_runs")


def document(n: int) -> Document:
    return Document(question=f"Did he like it {n}?", turns=(Exchange(question="Who?", answer="Bob Stone."),))


def service(folder, workers=0, **settings) -> CoreferenceService:
    choice = ResolverChoice(name="mine.py:Noting", settings={}, folder=folder)
    return CoreferenceService(choice, workers=workers, **settings)


def after(answer: str, question: str = "Did he like it?") -> Document:
    return Document(question=question, turns=(Exchange(question="Who?", answer=answer),))


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def batches(folder) -> list[int]:
    return [int(line) for line in (folder / "batches").read_text().split()]


async def test_a_document_is_resolved_once_however_often_it_is_asked(resolvers):
    async with service(resolvers) as coreference:
        await asyncio.gather(*(coreference.read(document(1)) for _ in range(50)))
        await coreference.read(document(1))
    assert sum(batches(resolvers)) == 1


async def test_another_class_may_stand_where_that_of_futures_was(resolvers, monkeypatch):
    """As nest_asyncio, which several harnesses and notebooks apply, puts one there."""
    monkeypatch.setattr(asyncio, "Future", type("Future", (), {}))
    async with service(resolvers) as coreference:
        assert await coreference.read(document(1)) == ()


async def test_where_no_process_may_be_started_that_is_said_with_the_way_out(resolvers, monkeypatch):
    """In a worker of a ``multiprocessing.Pool``."""
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    with pytest.raises(ResolverError, match=r"worker .* set drift.nlp_workers to 0"):
        await CoreferenceService(ResolverChoice(settings={}, folder=Path()), workers=1).__aenter__()
    async with service(resolvers) as coreference:  # in this process
        assert await coreference.clusters(document(1)) == []


async def test_what_waits_goes_together(resolvers):
    async with service(resolvers) as coreference:
        await asyncio.gather(*(coreference.read(document(n)) for n in range(100)))
    assert sum(batches(resolvers)) == 100
    assert len(batches(resolvers)) <= 4


async def test_a_cancelled_caller_takes_nothing_from_the_others(resolvers):
    async with service(resolvers) as coreference:
        first = asyncio.create_task(coreference.read(document(1)))
        second = asyncio.create_task(coreference.read(document(1)))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == ()


async def test_a_failing_resolver_is_an_error_for_those_who_asked(resolvers):
    async with service(resolvers) as coreference:
        with pytest.raises(ResolverError, match="no such luck"):
            await coreference.read(Document(question="fail"))
        assert await coreference.read(document(2)) == ()


async def test_a_resolver_that_gives_up_on_something_of_its_own_is_no_worker_without_an_answer(resolvers):
    async with service(resolvers, workers=1) as coreference:
        with pytest.raises(ResolverError, match="TimeoutError: too late"):
            await coreference.read(Document(question="late"))
        assert batches(resolvers) == [1]
        # Half a surrogate pair gets to a worker and back.
        assert (await coreference.drift(after("\ud83d"), after("Ann."))).valid


async def test_a_worker_that_died_is_replaced_and_its_question_asked_again_once(resolvers):
    async with service(resolvers, workers=1) as coreference:
        (resolvers / "deadly").write_text("1")
        assert await coreference.read(document(1)) == ()
        assert batches(resolvers) == [1, 1]
        (resolvers / "deadly").write_text("2")
        with pytest.raises(ReadingError, match="died twice"):
            await coreference.drift(document(2), after("Ann."))
        assert (await coreference.drift(document(2), after("Ann."))).valid, "a failure is not remembered"
        (resolvers / "deadly").write_text("4")
        asked = (coreference.read(document(n)) for n in range(3, 6))
        found = await asyncio.gather(*asked, return_exceptions=True)
        failed = [isinstance(one, ReadingError) for one in found]
        assert failed == [True, False, False], "of a batch that kills workers the others are read one by one"


STOPS = pytest.mark.skipif(os.name != "posix", reason="stops processes by signal")


async def test_a_question_that_stops_its_workers_is_not_read_and_a_stopped_worker_is_replaced(
    resolvers, monkeypatch
):
    async with service(resolvers, workers=1, timeout_s=0.5) as coreference:
        with pytest.raises(
            ReadingError, match=r"no coreference worker answered within 0\.5 s, twice: a larger"
        ):
            await coreference.read(Document(question="stop"))
        pool, replace_pool = coreference._pool, coreference._pool._new_pool
        pool._timeout_s = PATIENCE_S
        assert await coreference.read(document(2)) == ()

        def replaced():
            pool._timeout_s = PATIENCE_S  # for a worker that starts on a busy machine
            return replace_pool()

        os.kill(_only_worker(), signal.SIGSTOP)
        monkeypatch.setattr(pool, "_timeout_s", 0.2)  # no time is enough for one that is stopped
        monkeypatch.setattr(pool, "_new_pool", replaced)
        assert await coreference.read(document(3)) == ()


@STOPS
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
async def test_the_end_waits_for_no_worker_that_is_stopped_or_dead(resolvers, number):
    async with service(resolvers, workers=1) as coreference, asyncio.timeout(PATIENCE_S):
        await coreference.read(document(1))
        worker = _only_worker()
        os.kill(worker, number)
        reading = asyncio.create_task(coreference.read(document(2)))
        await asyncio.sleep(0)
        reading.cancel()
    assert not _runs(worker)


def _only_worker() -> int:
    """The process id of the coreference worker of this process."""
    (worker,) = (child.pid for child in multiprocessing.active_children() if "Loky" in child.name)
    assert worker is not None
    return worker


async def test_each_side_of_all_pairs_is_resolved_together_and_each_document_once(resolvers):
    async with service(resolvers) as coreference:
        pairs = [(document(n), after(f"Own {n}, {own}.")) for n in range(3) for own in range(2)]
        await asyncio.gather(*(coreference.drift(*pair, mode="hard") for pair in pairs))
        assert coreference.resolved == 3 + 6
    assert batches(resolvers) == [3, 6]


async def test_the_own_history_of_a_question_that_leans_on_nothing_is_not_read_nor_an_equal_one(resolvers):
    async with service(resolvers) as coreference:
        assert (await coreference.drift(document(1), after("Ann."))).valid
        assert (await coreference.drift(document(2), document(2))).valid
    assert batches(resolvers) == [1, 1]


@pytest.mark.parametrize("workers", [0, 1])
async def test_the_gold_side_is_remembered_for_other_systems_and_a_pair_for_the_same(resolvers, workers):
    async with service(resolvers, workers) as coreference:
        for answer, resolved in [("Ann.", 2), ("Ann.", 2), ("Carl.", 3)]:
            await coreference.drift(document(1), after(answer), mode="hard")
            assert coreference.resolved == resolved
        await coreference.read(document(1), gold=True)
        await coreference.drift(document(1), after("Ann."), mode="strict")
        assert coreference.resolved == 3


@pytest.mark.parametrize(
    ("kept", "owns", "counts"),
    [
        # The worker still knows the gold side.
        ("service.REMEMBERED", (0, 1, 0, 2, 0, 1), [2, 4, 4, 6, 6, 7]),
        ("worker.REMEMBERED_DOCUMENTS", range(6), [2, 4, 5, 7, 8, 10]),
    ],
    ids=["pair", "gold side"],
)
async def test_what_was_asked_longest_ago_is_forgotten(resolvers, monkeypatch, kept, owns, counts):
    monkeypatch.setattr(f"replay.coreference.service.{kept}", 2)
    resolved = []
    async with service(resolvers) as coreference:
        for n, own in zip((0, 1, 0, 2, 0, 1), owns, strict=True):
            await coreference.drift(document(n), after(f"Own {own}."), mode="hard")
            resolved.append(coreference.resolved)
    assert resolved == counts


@pytest.mark.parametrize("workers", [0, 1])
async def test_a_verdict_is_that_of_the_rule_on_both_readings(workers):
    gold, own = after("Ann Lee sang it.", "Where was she born?"), after("Bob Stone.", "Where was she born?")
    async with CoreferenceService(ResolverChoice(settings={}, folder=Path()), workers=workers) as coreference:
        readings = [await coreference.read(one) for one in (gold, own)]
        found, lenient = [
            {mode: await coreference.drift(gold, own, mode=mode, threshold=t) for mode in ("strict", "hard")}
            for t in (0.1, 1.0)
        ]
    documents = {"gold_document": gold, "predicted_document": own}
    learned = compare_strict(*readings, **documents, threshold=0.1)
    assert found == {"strict": learned, "hard": compare_hard(*readings)}
    assert all(drift.mentions and not drift.valid for drift in found.values())
    assert (lenient["strict"].valid, lenient["hard"].valid) == (True, False)


async def test_who_asks_just_as_the_last_batch_is_done_is_answered_too(resolvers, monkeypatch):
    async def at_once(self, task, batch):
        return [READINGS.pack(())] * len(batch), len(batch)

    async def read_in_the_next_step(coreference):
        await asyncio.sleep(0)
        return await coreference.read(document(2))

    monkeypatch.setattr(WorkerPool, "compute", at_once)
    async with service(resolvers) as coreference, asyncio.timeout(PATIENCE_S):
        found = await asyncio.gather(coreference.read(document(1)), read_in_the_next_step(coreference))
    assert found == [(), ()]
