"""The benchmark that holds two resolvers against each other counts right."""

from __future__ import annotations

import json

import pytest

from replay.coreference.service.service import ResolverChoice
from replay.runs.launch import run_async
from tests.benchmarks.programs import load_program
from tests.coreference.asked_model import honest
from tests.samples import SINGER
from tests.scorers.judges.servers import judge_server


@pytest.fixture(scope="module")
def benchmark():
    return load_program("drift_agreement")


RESOLVER = r"""
import re
from dataclasses import dataclass
from replay.core.drift_evidence import Mention, Reading

@dataclass(frozen=True, kw_only=True)
class Own:
    signature = "own"
    def resolve(self, documents):
        raise NotImplementedError
    def read(self, documents):
        return [self.one(document) for document in documents]
    def one(self, document):
        she = re.search(r"\b(she|her)\b", document.question)
        singer = re.search(r"(\w+ \w+) sang", document.context())
        if not she:
            return ()
        mention = Mention(start=she.start(), end=she.end(), text=she[0], kind="she")
        return (Reading(mention=mention, antecedent=singer and singer[1]),)
"""
"""Reads "she" as whoever sang."""


async def played(folder):
    (folder / "own.py").write_text(RESOLVER)
    turns = [{"question": turn.question, "gold_answer": turn.gold_answer} for turn in SINGER.turns]
    (folder / "talk.jsonl").write_text(json.dumps({"id": "talk", "turns": turns}))
    answers = ["Ben Achterberg sang it.", "In Leymont.", "Nobody.", "The viola."]
    content = {
        "name": "embedded",
        "data": {"path": str(folder / "talk.jsonl")},
        "systems": [{"name": "s", "adapter": "scripted", "settings": {"answers": answers}}],
        "policies": ["pred"],
        "drift": {"nlp_workers": 0, "resolver": str(folder / "own.py:Own")},
    }
    return await run_async(content, runs=folder / "runs")


async def test_the_same_answers_are_read_by_the_other_resolver(benchmark, tmp_path):
    run = await played(tmp_path)

    def last_is_unread(prompt, number):
        return "?" if "<question>What did Dilys play?" in prompt else honest(prompt, number)

    async with judge_server(last_is_unread) as server:
        settings = {**server.settings(), "cache": False}
        choice = ResolverChoice(name="llm", settings=settings, folder=tmp_path)
        pairs = await benchmark.judged_again(run, choice)
        assert any("Ben Achterberg sang it." in prompt for prompt in server.prompts)
    assert [pair.first for pair in pairs] == [record.drift for record in run.records()]
    assert [pair.second.valid for pair in pairs] == [True, False, False, None]
    text = benchmark.report(pairs, 10)
    assert "3 questions judged by both, 1 not judged by one of them" in text
    assert "both valid 1, both invalid 2, " in text
    assert "2 of 2 expressions that both found refer to the same" in text


async def test_a_resolver_agrees_with_itself(benchmark, tmp_path):
    run = await played(tmp_path)
    choice = ResolverChoice(name="own.py:Own", settings={}, folder=tmp_path)
    text = benchmark.report(await benchmark.judged_again(run, choice), 10)
    assert "invalid by the run's alone 0, by the other alone 0" in text
    assert "Cohen's kappa: 1.000" in text


async def test_where_they_differ_is_shown(benchmark, tmp_path):
    run = await played(tmp_path)
    always = json.dumps({"references": [], "meaning": "same"})
    async with judge_server(always) as server:
        choice = ResolverChoice(name="llm", settings={**server.settings(), "cache": False}, folder=tmp_path)
        text = benchmark.report(await benchmark.judged_again(run, choice), 1)
    assert "\ntalk 2: Where was she born?\n  run   invalid  she: Alice Okafor -> Ben Achterberg" in text
    assert "  other valid" in text
    assert "talk 3" not in text


async def test_other_words_are_another_reading(benchmark, tmp_path):
    run = await played(tmp_path)
    async with judge_server(lambda *asked: honest(*asked).replace("Alice Okafor", "Stone Garden")) as server:
        choice = ResolverChoice(name="llm", settings={**server.settings(), "cache": False}, folder=tmp_path)
        text = benchmark.report(await benchmark.judged_again(run, choice), 1)
    assert "0 of 2 expressions that both found refer to the same" in text
