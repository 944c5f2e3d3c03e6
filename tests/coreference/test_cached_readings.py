"""Gold-side readings on disk: found again by later runs, and never anybody else's."""

from __future__ import annotations

import asyncio
import textwrap

import pytest

from replay.core.disk_cache import DiskCache, cache_path, content_key
from replay.coreference.reading.resolver import CharSpan
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from tests.coreference.service.test_service import document

pytestmark = pytest.mark.usefixtures("code_runs")


SLOW = textwrap.dedent(
    """
    from pathlib import Path
    from replay.coreference.reading.resolver import CharSpan
    from replay.core.drift_evidence import Mention, Reading

    class Slow:
        worth_caching = True
        def __init__(self, folder: Path, version: int = 1):
            self.folder, self.signature = folder, f"slow-{version}"
        def resolve(self, documents):
            with (self.folder / "asked").open("a") as file:
                file.writelines(f"{d.question}\\n" for d in documents)
            return [[(CharSpan(start=0, end=3), CharSpan(start=5, end=7))] for _ in documents]

    class SlowReader(Slow):
        def read(self, documents):
            self.resolve(documents)
            mention = Mention(start=4, end=6, text="he", kind="he")
            reading = Reading(mention=mention, antecedent="Bob", distribution=((0.5, "Bob"),))
            return [(reading,) for _ in documents]

    class Quick(Slow):
        worth_caching = False
    """
)


@pytest.fixture
def slow(tmp_path, cache_folder):
    """Resolvers that are worth caching, and note what they were asked; and one that isn't."""
    (tmp_path / "mine.py").write_text(SLOW)
    return tmp_path


def service(folder, name="Slow", workers=0, **settings) -> CoreferenceService:
    choice = ResolverChoice(name=f"mine.py:{name}", settings=settings, folder=folder)
    return CoreferenceService(choice, workers=workers)


def asked(folder) -> list[str]:
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize("workers", [0, 1])
async def test_gold_documents_are_resolved_once_for_all_runs_and_others_in_each(slow, workers):
    expected = [(CharSpan(start=0, end=3), CharSpan(start=5, end=7))]
    for _ in range(2):
        async with service(slow, workers=workers) as coreference:
            found = await asyncio.gather(
                coreference.clusters(document(1), gold=True),
                coreference.clusters(document(2)),
                coreference.clusters(document(3), gold=True),
            )
            assert found == [expected] * 3
            await coreference.read(document(3), gold=True)
    questions = [d.question for d in (document(1), document(2), document(3), document(2))]
    assert asked(slow) == questions


async def test_readings_of_a_resolvers_own_come_back_as_they_were(slow):
    async with service(slow, "SlowReader") as coreference:
        first = await coreference.read(document(1), gold=True)
    async with service(slow, "SlowReader") as coreference:
        assert await coreference.read(document(1), gold=True) == first
    assert first[0].distribution == ((0.5, "Bob"),)
    assert len(asked(slow)) == 1


async def test_another_version_of_the_resolver_looks_for_itself(slow):
    for version in (1, 2, 1):
        async with service(slow, version=version) as coreference:
            await coreference.clusters(document(1), gold=True)
    assert len(asked(slow)) == 2


async def test_an_entry_of_another_shape_is_worked_out_again_and_replaced(slow):
    key = content_key("resolve", "slow-1", document(1))
    DiskCache(cache_path("coreference.db")).put({key: b'[["other"]]'})
    for _ in range(2):
        async with service(slow) as coreference:
            assert len(await coreference.clusters(document(1), gold=True)) == 1
    assert len(asked(slow)) == 1


async def test_a_quick_resolver_leaves_the_disk_alone(slow):
    async with service(slow, "Quick") as coreference:
        await coreference.clusters(document(1), gold=True)
    assert not (slow / "cache").exists()
