"""Conversations as Hugging Face datasets, there and back."""

from __future__ import annotations

import json

import pytest

from replay.core.conversation import Conversation, Turn, UserGoal
from replay.core.errors import DatasetError, PluginError, ScenarioError
from replay.datasets.loading import expand, read_conversations
from replay.runs.launch import run

# It may be there by another package's leave, and takes two seconds to import.
pytest.importorskip("lm_eval", reason="runs with the other harnesses: .ci/harnesses")

import datasets
from hypothesis import given, settings, strategies as st

from replay.integrations.datasets import features, from_dataset, to_dataset, turns_dataset
from tests.datasets.test_native import CONVERSATIONS

TALKS = [
    Conversation(id="a", turns=(Turn(id="a#1", question="Who?", gold_answers=("Okafor.",)),)),
    Conversation(id="b", turns=(Turn(id="b#1", question="When?"),), metadata={"app": None}),
]


@settings(max_examples=20)
@given(st.lists(CONVERSATIONS, min_size=1, max_size=3, unique_by=lambda one: one.id))
def test_what_is_made_a_dataset_is_read_back_exactly(conversations):
    assert from_dataset(to_dataset(conversations)) == conversations


def test_goals_are_there_and_back_too():
    goal = UserGoal(wants="You want a refund.", facts={"name": "Ann"}, guidelines=("Be brief.",), turns=4)
    goals = [Conversation(id="a", turns=(), goal=goal), Conversation(id="b", turns=(), goal=goal)]
    assert from_dataset(to_dataset(goals)) == goals


def test_empty_lists_keep_their_type():
    made = to_dataset(TALKS[1:])

    assert made.features == to_dataset([]).features == features()
    assert made[0]["turns"][0]["gold_answers"] == []
    assert (made[0]["title"], made[0]["turns"][0]["fact"]) == ("", None)


def test_one_that_is_written_is_read_as_a_file(tmp_path):
    made = to_dataset(TALKS)
    made.save_to_disk(tmp_path / "saved")
    made.to_parquet(tmp_path / "p.parquet")
    datasets.DatasetDict(train=made).save_to_disk(tmp_path / "splits")
    for path in ("saved", "p.parquet", "splits/train"):
        found = read_conversations(expand([path], tmp_path), reader=None, on_bad=None, limit=None)
        assert list(found) == TALKS


@pytest.mark.parametrize("streamed", [False, True])
def test_rows_may_be_in_any_format(streamed):
    messages = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Okafor."}]
    made = datasets.Dataset.from_list([{"messages": messages, "score": float("nan")}])
    (found,) = from_dataset(made.to_iterable_dataset() if streamed else made)

    assert (found.id, found.turns[0].gold_answer) == ("dataset.jsonl:1", "Okafor.")


def test_a_format_is_named_with_its_settings():
    said = [{"wer": "kundin", "was": "Wann?"}]
    made = datasets.Dataset.from_list([{"nr": 7, "dialog": said}])
    named = {"messages_field": "dialog", "role_field": "wer", "text_field": "was", "id_field": "nr"}
    (found,) = from_dataset(made, format="chat", roles={"kundin": "user"}, **named)

    assert (found.id, found.turns[0].question) == ("7", "Wann?")


def test_a_fault_names_the_row():
    made = datasets.Dataset.from_list([{"id": name, "turns": [{"question": name}]} for name in ("a", " ")])

    with pytest.raises(DatasetError, match=r"^dataset:2: id: is empty"):
        from_dataset(made)
    with pytest.raises(PluginError, match='"chatt" is not a known reader; did you mean "chat"'):
        from_dataset(made, format="chatt")
    with pytest.raises(ScenarioError, match=r"settings\.id"):
        from_dataset(made, format="chat", id="x")


def test_a_run_s_turns_are_a_dataset(tmp_path):
    played = run(
        {
            "name": "frame",
            "data": from_dataset(to_dataset(TALKS)),
            "systems": [{"name": "bot", "adapter": lambda question: "Okafor."}],
            "policies": ["gold"],
            "scorers": ["em"],
        },
        runs=tmp_path,
    )
    made = turns_dataset(played)

    assert made["em"][:] == [1.0, None]
    assert set(made.column_names) == set(played.turns().columns)
    json.dumps(made[0], default=str)
