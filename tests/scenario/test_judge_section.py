"""An entry of ``judges`` in a scenario: what it builds, and every fault with key path and line."""

from __future__ import annotations

import pytest

from replay.core.errors import ScenarioError
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario
from tests.data_tables import from_table

HEAD = """\
name: try
data: {path: talks.jsonl}
systems: [{name: s, adapter: scripted}]
policies: [pred]
drift: {nlp_workers: 0}
judges:
"""


@pytest.fixture
def built(tmp_path):
    (tmp_path / "talks.jsonl").write_text('{"id": "a", "turns": [{"question": "Who?"}]}\n')

    def assembled(judges):
        return assemble(parse_scenario(HEAD + judges, source="try.yaml", folder=tmp_path)).judges

    return assembled


def faults(built, judges):
    with pytest.raises(ScenarioError) as caught:
        built(judges)
    return [(fault.line, fault.path, fault.message) for fault in caught.value.faults]


def test_a_judge_with_all_there_is(built, tmp_path):
    (panel,) = built("""\
  - correctness:
      name: right
      voters:
        - {adapter: openai, settings: {base_url: "http://h/v1", model: big one}}
        - {adapter: scripted, name: other, limit: {asks: 1, per_s: 2}}
      limit: {asks: 5, per_s: 1}
      prices: {prompt_usd: 1, completion_usd: 2}
      concurrency: 3
      repeats: 2
      timeout_s: 5
      cache: own.db
""")

    assert panel.name == "right"
    assert [voter.name for voter in panel.voters] == ["openai/big one", "other"]
    assert panel.voters[0].limit is not panel.voters[1].limit
    assert panel.voters[0].prices.completion_usd == 2
    assert (panel.concurrency, panel.repeats, panel.patience.timeout_s) == (3, 2, 5)
    assert panel.cache == tmp_path / "own.db"
    assert list(panel.columns) == ["right"]
    signature = panel.signature
    assert not any(character.isspace() for character in signature)
    assert "by:openai/big_one@" in signature
    assert "other@" in signature
    assert "votes:majority" in signature
    assert "repeats:2" in signature


def test_columns_are_called_for_the_judge_and_its_outputs(built):
    claims, geval = built("""\
  - claims: {adapter: scripted}
  - geval: {adapter: scripted, mode: single, criteria: [coherence, naturalness]}
""")

    assert list(claims.columns) == ["claims.recall", "claims.precision", "claims.f1"]
    assert list(geval.columns) == ["geval.coherence", "geval.naturalness", "geval.mean"]
    assert {output.unit for output in geval.columns.values()} == {""}


def test_the_cache_is_the_users_unless_told_otherwise(built, cache_folder):
    on, off = built("""\
  - correctness: {adapter: scripted}
  - correctness: {adapter: scripted, name: b, cache: false}
""")

    assert on.cache == cache_folder / "verdicts.db"
    assert off.cache is None


def test_every_fault_is_told_at_once_with_its_line(built):
    found = faults(
        built,
        """\
  - corectness: {adapter: scripted}
  - geval:
      adapter: scripted
      concurrency: 0
      promt: own.txt
      mode: logprob
  - correctness: {adapter: nope}
""",
    )

    assert [(line, path) for line, path, _ in found] == [
        (7, "judges[0]"),
        (10, "judges[1].geval.concurrency"),
        (11, "judges[1].geval.promt"),
        (12, "judges[1].geval.mode"),
        (13, "judges[2].correctness.adapter"),
    ]
    assert 'did you mean "correctness"' in found[0][2]
    assert 'did you mean "prompt"' in found[2][2]
    assert 'did you mean "logprobs"' in found[3][2]


@from_table
def test_what_cant_be_a_judge(built, judges, path, message):
    ((_, where, said),) = faults(built, judges)

    assert where == path
    assert message in said


def test_samples_can_be_left_to_the_adapters_own_temperature(built):
    (panel,) = built("  - geval: {adapter: scripted, mode: samples, parameters: {temperature: null}}\n")

    assert panel.judge.needed_parameters == ()


@pytest.mark.usefixtures("code_runs")
def test_a_judge_from_a_file_beside_the_scenario(built, tmp_path):
    (tmp_path / "own.py").write_text("""
from replay.scorers.judges.yes_no import CorrectnessJudge

def strict(level_of_doubt: int = 1):
    return CorrectnessJudge()
""")
    (panel,) = built('  - "own.py:strict": {adapter: scripted, level_of_doubt: 2}\n')

    assert panel.name == "strict"
    ((_, where, said),) = faults(built, '  - "own.py:strict": {adapter: scripted, doubt: 2}\n')
    assert where == "judges[0].own.py:strict.doubt"
    assert "level_of_doubt" in said
