"""The worker processes behind the coreference service: how they live and end; what they are sent."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import Executor, Future
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, strategies as st

from replay.core.drift_evidence import Mention, Reading
from replay.core.errors import PluginNotFoundError, ResolverError, ScenarioError
from replay.core.history import Exchange
from replay.coreference.reading.resolver import CharSpan, Document
from replay.coreference.service import worker_pool
from replay.coreference.service.service import CoreferenceService, ResolverChoice, out_of_the_way
from replay.coreference.service.worker import CLUSTERS, DOCUMENTS, READINGS
from replay.coreference.service.worker_pool import WorkerPool
from tests.coreference.service.test_service import _runs, document, service
from tests.waiting import until, until_async

pytestmark = pytest.mark.usefixtures("code_runs")


@pytest.mark.skipif(not hasattr(os, "nice"), reason="priorities are set by nice")
async def test_workers_run_at_lower_priority_in_processes_of_their_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import os\n"
        "class Who:\n"
        "    signature = 'who-1'\n"
        "    def resolve(self, documents):\n"
        "        open('who', 'w').write(f'{os.getpid()} {os.nice(0)}')\n"
        "        return [[] for _ in documents]\n"
    )
    choice = ResolverChoice(name="mine.py:Who", settings={}, folder=tmp_path)
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        async with CoreferenceService(choice, workers=1) as coreference:
            await coreference.read(document(1))
    finally:
        os.chdir(before)
    pid, nice = map(int, (tmp_path / "who").read_text().split())
    assert pid != os.getpid()
    assert nice == min(os.nice(0) + 10, 19)


def test_a_wrong_resolver_is_found_before_anything_starts(tmp_path):
    with pytest.raises(PluginNotFoundError, match='did you mean "embedded"'):
        CoreferenceService(ResolverChoice(name="embeded", settings={}, folder=tmp_path))
    with pytest.raises(ScenarioError, match="temperature"):
        CoreferenceService(ResolverChoice(settings={"temperature": 1}, folder=tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_workers_leave_with_a_killed_parent():
    program = textwrap.dedent(
        """
        import asyncio, multiprocessing, pathlib, sys, time
        from replay.coreference.reading.resolver import Document
        from replay.coreference.service.service import CoreferenceService, ResolverChoice, out_of_the_way

        async def main():
            choice = ResolverChoice(settings={}, folder=pathlib.Path())
            async with CoreferenceService(choice, workers=1) as service:
                await service.read(Document(question="Did he?"))
                print(multiprocessing.active_children()[0].pid, flush=True)
                await asyncio.sleep(60)

        if __name__ == "__main__":
            asyncio.run(main())
        """
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until(lambda: not _runs(worker))


async def test_what_waits_in_the_pool_is_not_cancelled_when_the_service_ends(resolvers, monkeypatch):
    """loky's thread dies over a cancelled future where it kills workers, and prints its traceback."""
    submitted: list[Future[object]] = []

    class Waiting(Executor):
        def submit(self, *_: object) -> Future[object]:
            submitted.append(Future())
            return submitted[-1]

    monkeypatch.setattr(WorkerPool, "_new_pool", lambda _: Waiting())
    async with service(resolvers, workers=1) as waiting:
        asker = asyncio.create_task(waiting.read(document(1)))
        await until_async(lambda: submitted)
        asker.cancel()
    assert [future.cancelled() for future in submitted] == [False]


async def test_what_is_out_of_the_way_comes_after_all_else(resolvers, monkeypatch):
    monkeypatch.setattr("replay.coreference.service.service.LARGEST_BATCH", 2)
    answered = []

    async def read(n):
        await coreference.read(document(n))
        answered.append(n)

    async with service(resolvers) as coreference, asyncio.TaskGroup() as tasks:
        with out_of_the_way():
            for n in range(6):
                tasks.create_task(read(n))
        tasks.create_task(read(10))
        tasks.create_task(read(11))

    assert sorted(answered) == [*range(6), 10, 11]
    assert {10, 11} <= set(answered[:4]), "no more than a batch of the others was begun before"


async def test_workers_that_can_not_be_started_are_an_error_of_ours(monkeypatch):
    """A process may have too few file descriptors for the queues of its workers, or too little memory."""

    def no_pool(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(worker_pool, "LokyPool", no_pool)
    with pytest.raises(ResolverError, match=r"can't be started: .*Too many open files; .*nlp_workers to 0"):
        await CoreferenceService(ResolverChoice(settings={}, folder=Path()), workers=1).__aenter__()


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
DOCUMENT = st.builds(
    Document,
    question=TEXTS,
    turns=st.lists(st.builds(Exchange, question=TEXTS, answer=TEXTS), max_size=3).map(tuple),
    title=TEXTS,
)


@given(DOCUMENT)
def test_a_document_comes_back_as_it_was_half_surrogate_pairs_included(document):
    assert DOCUMENTS.unpack(DOCUMENTS.pack(document)) == document


@pytest.mark.parametrize("said", ["Bob", "half a pair: \ud83d"])
def test_equal_documents_are_equal_bytes(said):
    """They are what results are remembered by."""
    one, other = (
        Document(question=said[:], turns=(Exchange(question="".join(said), answer=said[:2] + said[2:]),))
        for _ in range(2)
    )
    assert DOCUMENTS.pack(one) == DOCUMENTS.pack(other)
    assert DOCUMENTS.pack(one) != DOCUMENTS.pack(Document(question=said))


@pytest.mark.parametrize("antecedent", ["Bob", "\udc00"])
def test_readings_and_clusters_come_back_as_they_were(antecedent):
    mention = Mention(start=4, end=6, text="he", kind="he")
    readings = (Reading(mention=mention, antecedent=antecedent, distribution=((0.1 + 0.2, antecedent),)),)
    clusters = [(CharSpan(start=0, end=3), CharSpan(start=4, end=6))]

    assert READINGS.unpack(READINGS.pack(readings)) == readings
    assert READINGS.unpack(READINGS.pack(())) == ()
    assert CLUSTERS.unpack(CLUSTERS.pack(clusters)) == clusters


def test_a_kind_of_mention_that_there_is_none_of_does_not_come_through():
    mention = Mention(start=4, end=6, text="he", kind="hero")  # type: ignore[arg-type]
    packed = READINGS.pack((Reading(mention=mention, antecedent=None),))

    with pytest.raises(msgspec.ValidationError, match="hero"):
        READINGS.unpack(packed)
