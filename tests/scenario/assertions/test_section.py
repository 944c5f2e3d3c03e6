"""The ``assert`` section: what it may hold, and how its faults are told."""

from __future__ import annotations

import pytest

from replay.core.errors import ScenarioError
from replay.scenario.assembly import assemble
from replay.scenario.assertions.section import ALL_DEPTHS, Assertion, DepthRange, read_depths
from replay.scenario.reading import parse_scenario, with_changes
from replay.store.reader import DATABASE
from tests.data_tables import from_table

HEAD = """\
name: try
data: {path: talk.jsonl}
systems: [{name: mine, adapter: scripted, settings: {answers: gold}}]
policies: [gold, rewrite, replace: {always: true}]
scorers: [f1, {latency: {quantile: 0.9}}]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "talk.jsonl").write_text(
        '{"id": "c", "turns": [{"question": "Who?", "gold_answer": "Me."}]}\n'
    )
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / DATABASE).touch()
    return tmp_path


def faults(folder, *asserted: str, head: str = HEAD):
    text = head + "assert:\n" + "".join(f"  - {one}\n" for one in asserted)
    with pytest.raises(ScenarioError) as caught:
        assemble(parse_scenario(text, source="s.yaml", folder=folder))
    return [(f.line, f.path, f.message) for f in caught.value.faults]


def test_a_sound_section_is_read(folder):
    text = HEAD + (
        "assert:\n"
        '  - {metric: f1, policy: rewrite, depth: ">=3", min: 0.5}\n'
        "  - {metric: latency(quantile=0.9), system: mine, max: 2}\n"
        "  - {metric: f1, policy: replace(always=True), compare: old, max_drop: 0.02, significant: true}\n"
        "  - {metric: errors, compare: old, max_rise: 0.01}\n"
    )
    assembly = assemble(parse_scenario(text, source="s.yaml", folder=folder))

    assert [one.title for one in assembly.file.scenario.assertions] == [
        "f1 at least 0.5 (rewrite, depth >=3)",
        "latency(quantile=0.9) at most 2 (mine)",
        "f1 drops by at most 0.02 or by chance since old (replace(always=True))",
        "errors rises by at most 0.01 since old",
    ]


def test_names_are_checked_with_their_lines_and_nearest_matches(folder):
    found = faults(
        folder, "{metric: f11, policy: rewrit, min: 0}", "{metric: latency_p95, system: m, max: 1}"
    )

    assert [(line, path) for line, path, _ in found] == [
        (7, "assert[0].metric"),
        (7, "assert[0].policy"),
        (8, "assert[1].metric"),
        (8, "assert[1].system"),
    ]
    assert 'did you mean "f1"?' in found[0][2]
    assert 'did you mean "rewrite"?' in found[1][2]
    assert 'did you mean "latency_p95_s"?' in found[2][2]
    assert '"m" is no system of this scenario (known: mine)' in found[3][2]


@from_table
def test_each_mistake_is_one_fault(folder, written, path, message):
    ((line, at, said),) = faults(folder, written)

    assert (line, at) == (7, f"assert[0]{path}")
    assert message in said


@from_table
def test_a_mistake_about_plays_is_one_fault(folder, written, path, message):
    ((_, at, said),) = faults(folder, written, head=HEAD + "play: {repeats: 3}\n")

    assert at == f"assert[0]{path}"
    assert message in said


def test_faults_elsewhere_do_not_hide_those_of_assertions(folder):
    head = HEAD.replace("name: try", "nam: try")
    found = faults(folder, "{metric: f2x, policy: rewrit, min: 0}", "{metric: f1}", head=head)

    assert {path for _, path, _ in found} >= {"name", "assert[0].policy", "assert[0].metric", "assert[1]"}


def test_names_are_not_doubted_because_of_a_faulty_part(folder):
    """Of a scorer that can't be built nobody knows what its scores are called."""
    found = faults(
        folder,
        "{metric: rouge_l(beta=two), min: 0}",
        head=HEAD.replace("scorers: [f1", "scorers: [{rouge_l: {beta: two}}"),
    )

    assert [path for _, path, _ in found] == ["scorers[0].rouge_l.beta"]


def test_assert_misspelt_is_recognized(folder):
    with pytest.raises(ScenarioError, match='did you mean "assert"'):
        parse_scenario(HEAD + "asserts: []\n", source="s.yaml", folder=folder)


def test_a_changed_limit_keeps_the_assertions(folder):
    file = parse_scenario(
        HEAD + 'assert: [{metric: f1, depth: ">=2", min: 0.5}]\n', source="s.yaml", folder=folder
    )

    assert with_changes(file, {"data": {"limit": 1}}).scenario.assertions == file.scenario.assertions


def test_bounds_of_what_is_no_share_may_be_any(folder):
    text = HEAD + "assert: [{metric: latency(quantile=0.9), max: 60}, {metric: cost_usd, max: 500}]\n"

    assert len(assemble(parse_scenario(text, source="s.yaml", folder=folder)).file.scenario.assertions) == 2


def test_an_assertion_can_be_made_in_a_program():
    assert Assertion(metric="f1", min=0.5, depth=">=3").title == "f1 at least 0.5 (depth >=3)"  # type: ignore[arg-type]


@from_table
def test_depths_are_read_as_they_are_written(written, held, shown):
    found = read_depths(written)

    assert [depth for depth in range(1, 7) if depth in found] == held
    assert str(found) == shown


@pytest.mark.parametrize("written", ["deep", "", None, True, 2.5, "3-", "-3", ">=x", "2..5", [1]])
def test_what_means_no_depth_is_refused_with_what_does(written):
    with pytest.raises(ValueError, match='">=3"'):
        read_depths(written)


@pytest.mark.parametrize("written", [0, "0", "<1", "5-2", "0-3"])
def test_a_range_without_a_depth_is_refused(written):
    with pytest.raises(ValueError, match="holds no depth"):
        read_depths(written)


def test_a_range_already_read_stays_as_it_is():
    assert read_depths(DepthRange(2, 4)) == DepthRange(2, 4)
    assert DepthRange() == ALL_DEPTHS
