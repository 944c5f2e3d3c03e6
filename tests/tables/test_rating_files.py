from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from replay.core.errors import DatasetError
from replay.scorers.operational import latency
from replay.scorers.word_overlap import f1
from replay.statistics.score_column import score_columns
from replay.tables.agreement_study import StudySettings, agreement_study, match_items
from replay.tables.items import run_items
from replay.tables.rating_files import read_items
from tests.data_tables import from_table
from tests.scorers.turns import turn
from tests.statistics.spread import LongestAnswer


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


FED = [
    {
        "context": "User: Hi",
        "response": "System: Hi",
        "system": "Meena",
        "annotations": {"Fluent": [2, 1, 2]},
    },
    {
        "context": "User: Hi",
        "system": "Human",
        "annotations": {"Error recovery": [2, "N/A (No errors)", 0], "Overall": [4, 3, 2]},
    },
]


def test_fed_has_turns_and_dialogues_and_ratings_that_do_not_apply(tmp_path):
    found = read_items(write(tmp_path / "fed.json", FED), "ratings")
    turn_item, dialogue = found.items

    assert (found.format, found.named_raters) == ("fed", False)
    assert (turn_item.level, dialogue.level) == ("turn", "dialogue")
    assert turn_item.ratings == {"fluent": (2, 1, 2)}
    assert dialogue.ratings["error recovery"] == (2, None, 0)
    assert dialogue.mean("error recovery") == 1
    assert dialogue.keys == {"id": "2", "system": "Human"}


def test_feds_turns_belong_to_the_dialogue_that_they_are_the_beginning_of(tmp_path):
    """Two systems may begin alike, and a turn of a dialogue that nobody rated stands on its own."""

    def item(system, context, response=None):
        more = {} if response is None else {"response": response}
        return {"context": context, "system": system, "annotations": {"Overall": [1]}, **more}

    rows = [
        item("Meena", "User: Hi!", "System: Hello."),
        item("Meena", "User: Hi!\nSystem: Hello.\nUser: Bye", "System: Bye."),
        item("Meena", "User: Hi!\nSystem: Hello.\nUser: Bye\nSystem: Bye."),
        item("Mitsuku", "User: Hi!", "System: Hello."),
        item("Mitsuku", "User: Hi!\nSystem: Hello. How are you?"),
        item("Meena", "User: Hi!\n", "System: Hello there."),
    ]
    found = read_items(write(tmp_path / "fed.json", rows), "ratings")

    assert [one.group for one in found.items] == [f"dialogue {n}" for n in (1, 1, 1, 2, 3, 4)]
    study = agreement_study(found, found, settings=StudySettings(resamples=0))
    assert study.agreements[0].correlations["pearson"].clusters == 3  # of four turns


def test_a_rating_that_is_neither_a_number_nor_not_applicable_is_an_error(tmp_path):
    FED_BAD = [{**FED[0], "annotations": {"Fluent": [2, "good"]}}]

    with pytest.raises(
        DatasetError, match=r"item 1, annotations.Fluent: is 'good', expected a number or N/A"
    ):
        read_items(write(tmp_path / "fed.json", FED_BAD), "ratings")


USR = [
    {
        "context": "Hi.",
        "fact": "Cats purr.",
        "annotators": ["zoe", "ann", "bob"],
        "responses": [
            {
                "response": "Hello.", "model": "A",
                "Understandable": [1, 1, 0], "Maintains Context": [3, 2, 1], "Overall": [5, 4, 3],
            },
            {
                "response": "Bye.", "model": "B",
                "Understandable": [0, 0, 0], "Maintains Context": [1, 1, 1], "Overall": [1, 2, 1],
            },
        ],
    }
]  # fmt: skip


def test_usr_keeps_ratings_by_person(tmp_path):
    found = read_items(write(tmp_path / "usr.json", USR), "ratings")

    assert (found.format, found.named_raters) == ("usr", True)
    assert found.criteria == ("understandability", "coherence", "overall")
    assert found.items[0].ratings["coherence"] == (2, 1, 3)  # ann, bob, zoe
    assert found.items[1].keys == {"id": "1-2", "system": "B"}
    assert found.items[0].group == found.items[1].group == "context 1"


def test_usr_without_names_is_read_too(tmp_path):
    content = [{name: value for name, value in USR[0].items() if name != "annotators"}]
    found = read_items(write(tmp_path / "usr.json", content), "ratings")

    assert not found.named_raters
    assert found.items[0].ratings["coherence"] == (3, 2, 1)


def test_unieval_gives_ratings_or_its_own_scores(tmp_path):
    content = [
        {
            "source": source, "context": "fact", "system_id": system, "system_output": "x",
            "scores": {"overall": 4.0}, "predict_scores": {"overall": 0.7},
        }
        for source, system in (("one", "A"), ("one", "B"), ("two", "A"))
    ]  # fmt: skip
    path = write(tmp_path / "t.json", content)
    ratings, scores = read_items(path, "ratings"), read_items(path, "scores")

    assert [item.mean("overall") for item in ratings.items] == [4.0] * 3
    assert [item.mean("overall") for item in scores.items] == [0.7] * 3
    assert [item.group for item in scores.items] == ["context 1", "context 1", "context 2"]
    assert "means" in ratings.notes[0]


def test_the_dataworkz_table_says_that_its_ratings_are_a_judges(tmp_path):
    text = "SNo.,Golden Response,Candidate Response,Bleu Score,LLM F1\n7,a,b,0.5,1.0\n"
    path = write(tmp_path / "t.csv", text)

    assert read_items(path, "scores").criteria == ("Bleu Score", "LLM F1")
    ratings = read_items(path, "ratings")
    assert ratings.criteria == ("LLM F1",)
    assert ratings.items[0].keys == {"id": "7"}
    assert "not people's" in ratings.notes[0]


def test_a_table_with_one_rater_a_row_is_put_together(tmp_path):
    text = (
        "conversation,depth,rater,naturalness,comment\n"
        "c1,1,ann,4,fine\nc1,1,bob,3,\nc1,2,bob,N/A,odd\nc1,2,ann,5,\nc1,3,ann,2,\n"
    )
    found = read_items(write(tmp_path / "t.csv", text), "ratings")

    assert found.named_raters
    assert [item.ratings["naturalness"] for item in found.items] == [(4, 3), (5, None), (2, None)]
    assert found.items[1].keys == {"conversation": "c1", "depth": "2"}
    assert found.items[0].group == "c1"
    assert "comment" in found.notes[0]


def test_a_table_without_raters_has_one_row_an_item(tmp_path):
    path = write(
        tmp_path / "t.jsonl", '{"id": 1, "overall": [4, 5, null]}\n{"id": 2, "overall": [1, 2, 3]}\n'
    )
    found = read_items(path, "ratings")

    assert [item.ratings["overall"] for item in found.items] == [(4, 5, None), (1, 2, 3)]


@from_table
def test_a_table_that_contradicts_itself_is_an_error(tmp_path, text, message):
    with pytest.raises(DatasetError, match=message):
        read_items(write(tmp_path / "t.csv", text), "ratings")


def test_a_run_gives_its_turns_and_names_scores_without_a_number_for_a_turn():
    records = [turn("Paris", "Paris", depth=1), turn(None, "Paris", depth=2)]
    scorers = {"f1": f1(), "long": LongestAnswer(), "latency": latency()}
    found = run_items("run", records, score_columns(records, scorers))

    assert [item.mean("f1") for item in found.items] == [1.0, None]
    assert found.items[1].keys == {"system": "s", "policy": "pred", "conversation": "c1", "depth": "2"}
    assert "long" in found.notes[0]
    assert found.lower_is_better == {"latency"}


def test_of_several_plays_a_rating_is_of_the_one_that_it_names(tmp_path):
    """Each play has an answer of its own; the plays of a conversation are no conversations of their own."""
    again = replace(turn("Rome", "Paris", depth=1), conversation="c1~2", source="c1", repeat=2)
    records = [turn("Paris", "Paris", depth=1), again]
    scores = run_items("run", records, score_columns(records, {"f1": f1()}))
    human = read_items(write(tmp_path / "t.csv", "conversation,depth,overall\nc1,1,5\nc1~2,1,1\n"), "ratings")
    pairs = match_items(scores, human, "turn").pairs

    assert [(one.mean("f1"), other.mean("overall")) for one, other in pairs] == [(1, 5), (0, 1)]
    assert {one.group for one, _ in pairs} == {"c1"}
    assert scores.notes == (
        "each conversation was played 2 times, and a rating is of the play that it names: "
        "c1~2 is play 2 of c1, and c1 the first.",
    )


def test_the_whole_of_fed_is_read(shared_data):
    found = read_items(shared_data / "fed" / "fed_data.json", "ratings")
    levels = [item.level for item in found.items]

    assert (levels.count("turn"), levels.count("dialogue")) == (375, 125)
    assert {len(ratings) for item in found.items for ratings in item.ratings.values()} == {5}
    texts = [
        rating
        for item in json.loads((shared_data / "fed" / "fed_data.json").read_text("utf-8"))
        for ratings in item["annotations"].values()
        for rating in ratings
        if isinstance(rating, str)
    ]
    missing = [r for item in found.items for ratings in item.ratings.values() for r in ratings if r is None]
    assert len(missing) == len(texts) > 100
