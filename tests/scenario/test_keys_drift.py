"""``drift``: each key played where it changes a verdict or what it comes from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from replay.cli import app
from replay.core.errors import ScenarioError
from replay.coreference.service import semantic, worker_pool
from tests.samples import ALICE
from tests.scenario.keys import key, played

SINGER = {
    "id": "singer",
    "title": "Stone Garden (album)",
    "turns": [
        {"question": "Who sang Stone Garden?", "gold_answers": ["Alice Okafor sang it."]},
        {"question": "Where was she born?", "gold_answers": ["She was born in Port Ellis."]},
        {"question": "Who taught her?", "gold_answers": ["Her aunt Dilys taught her."]},
    ],
}
OTHER = {"settings": {"answers": ["Ben Achterberg sang it.", "In Leymont.", "Nobody."]}}

RESOLVER = """
import os
from dataclasses import dataclass
from replay.core.drift_evidence import Mention, Reading

@dataclass(frozen=True, kw_only=True)
class Own:
    antecedent: str = "nobody"
    signature = "own"
    def resolve(self, documents):
        raise NotImplementedError
    def read(self, documents):
        antecedent = str(os.getpid()) if self.antecedent == "pid" else self.antecedent
        mention = Mention(start=0, end=3, text="Who", kind="other")
        return [(Reading(mention=mention, antecedent=antecedent),) for _ in documents]
"""


YOUNG = """
import re
from replay.coreference.reading.mentions import find_mentions
from replay.coreference.reading.resolver import CharSpan

class Young:
    signature = "young"
    def resolve(self, documents):
        return [self.clusters(document) for document in documents]
    def clusters(self, document):
        context = document.context()
        named = re.search("(The young )?Alice Okafor", context)
        her = [mention for mention in find_mentions(document.question) if mention.kind == "she"]
        spans = [CharSpan(start=len(context) + one.start, end=len(context) + one.end) for one in her]
        return [(CharSpan(start=named.start(), end=named.end()), *spans)] if named and spans else []
"""
"""Reads "she" as Alice Okafor, as young as the history has her."""


async def drift(folder: Path, *, system=OTHER, talk=SINGER, **section):
    """What was found of each question, played with the settings in *section*."""
    run = await played(
        folder, talks=[talk], system=system, policies=["pred"], drift={"nlp_workers": 0, **section}
    )
    found = [record.drift for record in run.records()]
    assert None not in found
    return found


def antecedents(found):
    return [one.gold.antecedent for drift in found for one in drift.mentions]


@key("drift.resolver")
async def test_mentions_are_read_by_the_resolver_that_is_named(tmp_path):
    (tmp_path / "own.py").write_text(RESOLVER)
    distributions = {}
    for name in ("embedded", "own.py:Own"):
        found = await drift(tmp_path, resolver=name)
        distributions[name] = [bool(one.gold.distribution) for one in found[1].mentions]
    assert distributions["own.py:Own"] == [False]
    assert distributions["embedded"][0]


@key("drift.resolver", "drift.settings")
async def test_a_resolver_gets_its_settings(tmp_path):
    (tmp_path / "own.py").write_text(RESOLVER)
    assert set(antecedents(await drift(tmp_path, resolver="own.py:Own"))) == {"nobody"}
    found = await drift(tmp_path, resolver="own.py:Own", settings={"antecedent": "somebody"})
    assert set(antecedents(found)) == {"somebody"}


@key("drift.nlp_workers")
@pytest.mark.parametrize("workers", [0, 2])
async def test_so_many_other_processes_read(tmp_path, monkeypatch, workers):
    (tmp_path / "own.py").write_text(RESOLVER)
    counts = []

    class Pool(worker_pool.LokyPool):
        def __init__(self, count, **how):
            counts.append(count)
            super().__init__(count, **how)

    monkeypatch.setattr(worker_pool, "LokyPool", Pool)
    section = {"resolver": "own.py:Own", "settings": {"antecedent": "pid"}, "nlp_workers": workers}
    found = set(antecedents(await drift(tmp_path, **section)))
    assert counts == ([workers] if workers else [])
    assert (str(os.getpid()) in found) == (workers == 0)


@key("drift.timeout_s")
async def test_where_no_worker_answers_in_time_a_question_is_not_judged_and_the_run_goes_on(tmp_path):
    """A time in which nobody can answer; one that a worker may or may not keep is test_service.py's."""
    (tmp_path / "own.py").write_text(RESOLVER)
    found = await drift(tmp_path, resolver="own.py:Own", nlp_workers=1, timeout_s=1e-6)
    assert {one.valid for one in found[1:]} == {None}
    assert found[2].kind_not_judged == "no coreference worker answered within 1e-06 s, twice"


@key("drift.window")
async def test_so_many_exchanges_are_looked_back(tmp_path):
    async def names_her(**section):
        found = await drift(tmp_path, resolver=ALICE, **section)
        return ["Alice Okafor" in antecedents([one]) for one in found]

    asked = [{"question": f"Did she sing in 198{n}?", "gold_answers": ["Yes."]} for n in range(9)]
    talk = {**SINGER, "turns": [SINGER["turns"][0], *asked]}
    silent = {"settings": {"answers": ["No."] * 10}}
    found = {window: await names_her(window=window) for window in (0, 1, 2)}
    assert found == {0: [False] * 3, 1: [False, True, False], 2: [False, True, True]}
    for section, seen in (({}, 6), ({"mode": "evalconvqa"}, 2), ({"mode": "evalconvqa", "window": 6}, 6)):
        found = await names_her(talk=talk, system=silent, **section)
        # Depth 1 names her in its answer.
        assert [depth for depth, one in enumerate(found, 1) if one] == [*range(2, 2 + seen)], section


@key("drift.background")
async def test_the_title_is_looked_at_unless_it_is_not_to_be(tmp_path):
    talk = {
        "id": "a",
        "title": "Alice Okafor (singer)",
        "turns": [{"question": "When did she sing?", "gold_answers": ["In 1990."]}],
    }

    async def read(**section):
        return antecedents(await drift(tmp_path, talk=talk, resolver=ALICE, **section))

    assert await read() == ["Alice Okafor"]
    assert await read(background=False) == await read(background="alone") == []
    talk["background"] = "Alice Okafor is a singer."
    assert await read(background="alone") == ["Alice Okafor"]
    with pytest.raises(ScenarioError, match=r"drift\.background"):
        await drift(tmp_path, background="only")


@key("drift.mode")
async def test_the_rule_is_the_one_that_is_named(tmp_path):
    found = {mode: (await drift(tmp_path, mode=mode))[1] for mode in ("strict", "hard", "evalconvqa")}
    assert {mode: one.mode for mode, one in found.items()} == {mode: mode for mode in found}
    assert 0 < found["strict"].probability < 1
    assert found["hard"].probability == 1
    assert found["evalconvqa"].probability == 0


@key("drift.threshold")
async def test_a_question_has_drifted_from_the_threshold_on(tmp_path):
    (_, second, _) = await drift(tmp_path)
    assert 0 < second.probability < 1
    for threshold, valid in ((second.probability, False), (second.probability + 1e-6, True)):
        assert (await drift(tmp_path, threshold=threshold))[1].valid is valid


@key("drift.match")
async def test_antecedents_or_whole_questions_are_compared(tmp_path):
    """The antecedents share a word, so they agree; put into the question they are not the same."""
    like = {"settings": {"answers": ["The young Alice Okafor did.", "In Port Ellis.", "Dilys."]}}
    (tmp_path / "young.py").write_text(YOUNG)
    section = {"system": like, "resolver": "young.py:Young", "mode": "evalconvqa"}
    found = {
        match: [one.valid for one in await drift(tmp_path, **section, match=match)] for match in ("f1", "em")
    }
    assert found["f1"][1] is True
    assert found["em"][1] is False


@key("drift.skip_entity")
async def test_capitalised_mentions_are_compared_if_they_are_not_to_be_skipped(tmp_path):
    talk = {**SINGER, "turns": [SINGER["turns"][0], {"question": "She wrote what?"}]}
    for skips, files in ((True, "skipent"), (False, "keptent")):
        section = {"nlp_workers": 0, "mode": "evalconvqa", "skip_entity": skips}
        run = await played(tmp_path, talks=[talk], system=OTHER, policies=["pred"], drift=section)
        assert [record.drift.valid for record in run.records()] == [True, skips]
        out = tmp_path / files
        CliRunner().invoke(app, ["export", str(run.folder), "--table", "evalconvqa", "--out", str(out)])
        assert (out / f"predictions_s_pred_{files}_0_1.json").exists()
    with pytest.raises(ScenarioError, match=r"drift\.skip_entity +needs mode: evalconvqa"):
        await drift(tmp_path, skip_entity=False)


class Toy:
    """A model of meaning: texts are alike if they begin with the same letter; with another model, all are."""

    max_seq_length = 100

    def __init__(self, source: str) -> None:
        self.source = source

    def tokenizer(self, text, **_):
        return {"offset_mapping": [(0, len(text))]}

    def encode(self, text, **_):
        vector = [0.0] * 128
        vector[0 if self.source.endswith("blunt") else ord(text[0]) % 128] = 1.0
        import numpy

        return numpy.array(vector)


@key("drift.semantic.model", "drift.semantic.min_similarity")
async def test_answers_are_compared_by_their_meaning(tmp_path, monkeypatch):
    monkeypatch.setattr(semantic, "_load", Toy)
    monkeypatch.setattr(semantic, "library_version", lambda name: "1")
    monkeypatch.setattr(semantic, "_encode", semantic._encode.__wrapped__)

    async def second(**section):
        return (await drift(tmp_path, threshold=1, **section))[1]

    assert (await second()).semantic is None
    sharp = await second(semantic={"model": "sharp"})
    assert (sharp.semantic.answers, sharp.valid) == (0.0, True)
    assert (await second(semantic={"model": "blunt"})).semantic.answers == 1.0
    assert not (await second(semantic={"model": "sharp", "min_similarity": 0.5})).valid
    assert (await second(semantic={"model": "blunt", "min_similarity": 0.5})).valid


@key("drift.load_sample")
@pytest.mark.parametrize(("size", "judged"), [(5, 5), (None, 30)])
async def test_of_a_load_run_so_many_turns_are_judged(tmp_path, size, judged):
    load = {"concurrency": 1, "conversations": 10}
    run = await played(
        tmp_path,
        talks=[SINGER],
        system=OTHER,
        policies=["pred"],
        drift={"nlp_workers": 0, "load_sample": size},
        load=load,
    )
    assert sum(record.drift is not None for record in run.records()) == judged
