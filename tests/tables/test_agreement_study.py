from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console
from scipy import stats

from replay.core.errors import InputError
from replay.report.text import print_document
from replay.statistics.rater_table import NO_NAMES
from replay.tables.agreement_document import study_document
from replay.tables.agreement_study import StudySettings, agreement_study, criterion_pairs, match_items
from replay.tables.items import ItemSet, TableItem
from replay.tables.rating_files import read_items


def items(source, rows, **settings):
    """Rows of (keys, ratings by criterion), the group being the key ``id``'s letter."""
    return ItemSet(
        source=source,
        format="table",
        items=tuple(
            TableItem(keys=keys, ratings={n: r if isinstance(r, tuple) else (r,) for n, r in ratings.items()})
            for keys, ratings in rows
        ),
        **settings,
    )


HUMAN = items(
    "human",
    [
        ({"id": "1", "system": "A"}, {"overall": (1.0, 2.0), "naturalness": (2.0, 2.0)}),
        ({"id": "2", "system": "A"}, {"overall": (3.0, 4.0), "naturalness": (3.0, 3.0)}),
        ({"id": "3", "system": "B"}, {"overall": (5.0, 5.0), "naturalness": (5.0, None)}),
        ({"id": "4", "system": "B"}, {"overall": (None, None), "naturalness": (1.0, 1.0)}),
    ],
    named_raters=True,
)
SCORES = items("scores", [({"id": str(n)}, {"f1": n / 10}) for n in (4, 3, 2, 1, 9)])


def printed(study, width=120) -> str:
    out = io.StringIO()
    print_document(study_document(study), Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_a_study_by_hand():
    """f1 .1 .2 .3 against means 1.5 3.5 5: the fourth item has no rating."""
    study = agreement_study(SCORES, HUMAN, settings=StudySettings(resamples=50))
    (found,) = study.agreements

    assert (found.score, found.criterion) == ("f1", "overall")
    assert found.scores == (0.1, 0.2, 0.3)
    assert found.ratings == (1.5, 3.5, 5.0)
    assert found.correlations["pearson"].value == pytest.approx(3.5 / math.sqrt(2 * 18.5 / 3))
    assert found.correlations["kendall"].value == 1
    assert sum(found.differences) / 3 == pytest.approx((1.4 + 3.3 + 4.7) / 3)
    assert (study.matched.joined_by, study.matched.only_scores, study.matched.only_human) == ("id", 1, 0)
    assert found.ranking.same
    json.dumps(study.to_json(), allow_nan=False)


def test_of_a_score_like_latency_less_is_better():
    """People prefer B, which is faster: the same order, though the numbers go apart."""
    rows = [({"id": str(n)}, {"latency": 5.0 - n}) for n in (1, 2, 3)]
    slow = items("run", rows, lower_is_better=frozenset({"latency"}))
    study = agreement_study(slow, HUMAN, settings=StudySettings(resamples=0))
    (found,) = study.agreements

    assert found.correlations["kendall"].value == -1
    assert (found.ranking.by_metric, found.ranking.kendall, found.ranking.same) == ((("B",), ("A",)), 1, True)
    assert "latency / overall: less is better, so the system with the least comes first." in printed(study)


def test_raters_are_compared_with_each_other():
    study = agreement_study(SCORES, HUMAN, settings=StudySettings(resamples=0))
    overall, naturalness = (study.raters[name].total for name in ("overall", "naturalness"))

    assert (overall.shared, naturalness.shared) == (3, 3)
    assert naturalness.cohen.value == naturalness.fleiss.value == naturalness.alpha.value == 1
    assert overall.cohen.value == pytest.approx((1 / 3 - 1 / 9) / (1 - 1 / 9))
    assert overall.agreement.value == pytest.approx(1 / 3)
    assert "Cohen's kappa" in printed(study)


def test_agreement_among_raters_is_known_by_depth_and_over_the_groups_of_items():
    human = ItemSet(
        source="human",
        format="table",
        items=tuple(
            TableItem(
                keys={"id": str(place), "depth": str(1 + place % 2)},
                ratings={"overall": (1.0, 1.0 + place % 2), "alone": (1.0, None)},
                group="one" if place < 4 else None,
            )
            for place in range(6)
        ),
        named_raters=True,
    )
    study = agreement_study(SCORES, human, against="overall", settings=StudySettings(resamples=0))

    assert list(study.raters) == ["overall"]
    assert [(row.depth, row.agreement.value) for row in study.raters["overall"].depths] == [(1, 1), (2, 0)]
    assert study.raters["overall"].total.agreement.clusters == 3


def test_raters_who_change_from_item_to_item_have_no_cohens_kappa():
    study = agreement_study(
        SCORES,
        items("human", [(i.keys, i.ratings) for i in HUMAN.items]),
        settings=StudySettings(resamples=0),
    )

    assert {one.total.cohen.value for one in study.raters.values()} == {NO_NAMES}
    assert not any(one.pairs for one in study.raters.values())
    assert "Cohen" not in printed(study)


def test_scores_can_be_mapped_onto_the_peoples_range():
    settings = StudySettings(resamples=0, score_range=(0, 1), human_range=(1, 5))
    (found,) = agreement_study(SCORES, HUMAN, settings=settings).agreements

    assert found.scores == pytest.approx((1.4, 1.8, 2.2))


def test_what_is_left_out_is_said():
    text = printed(agreement_study(SCORES, HUMAN, settings=StudySettings(resamples=10)))

    assert "4 items joined by id." in text
    assert "1 item is only in scores; left out." in text
    assert "f1 / overall: 1 item without a score or a rating" in text
    assert text.isascii()


def test_equal_names_are_held_against_each_other_and_their_mean_against_overall():
    one = items("s", [({}, {"Naturalness": 1.0, "coherence": 1.0, "other": 1.0})])
    other = items("h", [({}, {"naturalness": 1.0, "coherence": 1.0, "overall": 1.0})])

    same = [("Naturalness", "naturalness"), ("coherence", "coherence")]
    assert criterion_pairs(one, other) == [*same, ("other", "overall"), ("mean", "overall")]
    assert criterion_pairs(one, other, score=["coherence"]) == [("coherence", "coherence")]
    assert criterion_pairs(one, other, score=["other"]) == [("other", "overall")]
    assert criterion_pairs(one, other, against="overall")[2] == ("other", "overall")
    with pytest.raises(InputError, match='no "overal"; did you mean "overall"'):
        criterion_pairs(one, other, against="overal")
    with pytest.raises(InputError, match="--against NAME"):
        criterion_pairs(items("s", [({}, {"f1": 1.0})]), items("h", [({}, {"a": 1.0, "b": 1.0})]))


def test_a_judges_criterion_is_held_against_the_peoples_criterion_of_that_name():
    """Two judges each have their own; what is called by no criterion is held against overall."""
    columns = ["geval.naturalness", "geval(b).coherence", "geval.mean", "claims.f1", "f1"]
    run = items("run", [({}, dict.fromkeys(columns, 1.0))])
    human = items("h", [({}, {"Naturalness": 1.0, "coherence": 1.0, "Overall": 1.0})])

    assert criterion_pairs(run, human) == [
        ("geval.naturalness", "Naturalness"),
        ("geval(b).coherence", "coherence"),
        ("geval.mean", "Overall"),
        ("claims.f1", "Overall"),
        ("f1", "Overall"),
    ]
    without = items("h", [({}, {"naturalness": 1.0, "coherence": 1.0})])
    assert criterion_pairs(run, without) == [
        ("geval.naturalness", "naturalness"),
        ("geval(b).coherence", "coherence"),
    ]


def test_the_mean_of_the_criteria_is_held_against_overall():
    rows = [({"id": str(n)}, {"naturalness": float(n), "coherence": float(n * n)}) for n in range(1, 5)]
    human = [
        ({"id": str(n)}, {"naturalness": 1.0 + n, "coherence": 2.0 * n, "overall": 3.0 * n})
        for n in range(1, 5)
    ]
    study = agreement_study(items("s", rows), items("h", human), settings=StudySettings(resamples=0))

    assert study.agreements[-1].label == "mean / overall"
    assert study.agreements[-1].scores == (1.0, 3.0, 6.0, 10.0)


def test_turns_of_a_run_are_joined_by_conversation_and_depth():
    places = [("pred", "c1", "1"), ("pred", "c1", "2"), ("gold", "c1", "1"), ("gold", "c1", "2")]
    run = items(
        "run",
        [
            ({"system": "s", "policy": p, "conversation": c, "depth": d}, {"f1": n / 4})
            for n, (p, c, d) in enumerate(places)
        ],
    )
    vague = items("h", [({"conversation": "c1", "depth": d}, {"overall": 1.0}) for d in "12"])
    exact = items("h", [({**i.keys, "policy": "gold"}, i.ratings) for i in vague.items])

    with pytest.raises(
        InputError, match=r"several items with conversation c1, depth 1; add columns .*policy"
    ):
        match_items(run, vague, "turn")
    found = match_items(run, exact, "turn")
    assert found.joined_by == "policy, conversation, depth"
    assert [score.mean("f1") for score, _ in found.pairs] == [0.5, 0.75]


def test_without_keys_rows_are_joined_if_they_are_equally_many():
    one, other = (items(s, [({}, {"a": float(n)}) for n in range(k)]) for s, k in (("s", 3), ("h", 3)))

    assert match_items(one, other, "turn").joined_by == "row"
    with pytest.raises(InputError, match="s has 3 items and h 2"):
        match_items(one, items("h", [({}, {"a": 1.0})] * 2), "turn")
    with pytest.raises(InputError, match="no item of h is in s"):
        match_items(items("s", [({"id": "1"}, {"a": 1.0})]), items("h", [({"id": "2"}, {"a": 1.0})]), "turn")
    with pytest.raises(InputError, match="no item of level dialogue"):
        match_items(one, other, "dialogue")


# Over the 180 answers of the first half of the contexts; made with scipy 1.17 from the file alone.
@pytest.mark.parametrize(
    "criterion", ["naturalness", "coherence", "engagingness", "groundedness", "understandability", "overall"]
)
def test_unievals_scores_on_topical_chat_correlate_as_scipy_says(shared_data, criterion):
    path = shared_data / "topical_chat" / "topical_chat_a.json"
    content = json.loads(path.read_text("utf-8"))
    x = [item["predict_scores"][criterion] for item in content]
    y = [item["scores"][criterion] for item in content]
    study = agreement_study(
        read_items(path, "scores"),
        read_items(path, "ratings"),
        score=[criterion],
        settings=StudySettings(resamples=20),
    )
    (found,) = study.agreements

    assert len(found.scores) == 180
    assert found.correlations["pearson"].value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.correlations["spearman"].value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.correlations["kendall"].value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found.correlations["pearson"].clusters == 30
    assert len(found.pairwise) == 15
