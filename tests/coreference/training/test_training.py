"""Training, from files with human rewrites to weights."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

from replay.core.history import Exchange
from replay.coreference.embedded.asked import KINDS
from replay.coreference.embedded.network import shipped, unpacked
from replay.coreference.embedded.scene import look_at
from replay.coreference.resolver import Document
from replay.coreference.training import train as command
from replay.coreference.training.annotated_questions import (
    FOLDS,
    Example,
    fold_of,
    read_examples,
    with_titles,
)
from replay.coreference.training.fit_networks import FitSettings, fit_network, joined
from replay.coreference.training.train import Lessons, lessons, train
from replay.coreference.training.training_examples import dresses, training_examples
from replay.coreference.training.weights import Weights, packed
from replay.coreference.verdict_evidence import WIDTH

SAID = [
    ("Who taught her?", "Who taught Ann Lee?", "The pianist Bob Ray."),
    ("Did he like her?", "Did Bob Ray like Ann Lee?", "He did."),
    ("When did she leave?", "When did Ann Lee leave?", "In 1990."),
]
QUICK = FitSettings(networks=2, width=8, hidden_width=4, epochs=3)


def rows(dialog="d", title="Ann Lee"):
    history = [title, "Early life"]
    for number, (question, rewrite, answer) in enumerate(SAID, 1):
        yield {
            "History": list(history),
            "QuAC_dialog_id": dialog,
            "Question": question,
            "Question_no": number,
            "Rewrite": rewrite,
        }
        history += [question, answer]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "canard.json"
    path.write_text(json.dumps([*rows()]), "utf-8")
    return path


def test_examples_have_the_whole_history_and_the_rewrite(data):
    examples = read_examples([data])

    assert [len(e.document.turns) for e in examples] == [0, 1, 2]
    assert [e.rewrite for e in examples] == [rewrite for _, rewrite, _ in SAID]
    assert {(e.group, e.source) for e in examples} == {("ann lee", "canard")}
    assert {e.fold for e in examples} == {fold_of("ann lee")}


def test_folds_are_the_same_in_every_process_and_none_is_empty():
    assert {fold_of(str(number)) for number in range(100)} == set(range(FOLDS))
    assert fold_of("ann lee") == 2


def test_a_question_that_two_paths_share_is_one_example(tmp_path):
    turn = {
        "number": "1-1",
        "utterance": "Who?",
        "manual_rewritten_utterance": "Who is it?",
        "response": "Ann.",
    }
    more = [{**turn, "number": f"1-{n}", "utterance": f"Why {n}?"} for n in (2, 3)]
    path = tmp_path / "cast.json"
    path.write_text(json.dumps([{"number": 7, "turn": [turn, other]} for other in more]), "utf-8")
    examples = read_examples([path])

    assert [e.document.question for e in examples] == ["Who?", "Why 2?", "Why 3?"]
    assert {e.group for e in examples} == {"topic 7"}


def test_passages_of_one_article_are_one_group_where_nothing_else_tells(tmp_path):
    ids = [f"C_{'a' * 32}_{number}" for number in range(2)] + [f"C_{'b' * 32}_0", "other"]
    path = tmp_path / "canard.json"
    path.write_text(json.dumps([row for dialog in ids for row in rows(dialog, "")]), "utf-8")

    assert {e.group for e in read_examples([path])} == {f"C_{'a' * 32}", f"C_{'b' * 32}", "who taught her?"}


def put(question, rewrite, *, title="", group="g"):
    return Example(
        dialog="d", group=group, document=Document(question=question, title=title), rewrite=rewrite
    )


def titles(*examples):
    return [example.document.title for example in with_titles(examples)]


def test_what_people_put_for_pronouns_twice_is_the_title():
    once = put("Did she sing?", "Did Ann Lee sing?")
    owned = put("Who was her teacher?", "Who was Ann Lee's teacher?")

    assert titles(once, owned, put("Why?", "Why?")) == ["Ann Lee"] * 3
    assert titles(once) == [""]
    assert titles(once, replace(owned, group="h")) == ["", ""]


@pytest.mark.parametrize(
    ("rewrite", "question"),
    [
        ("Did ann lee sing?", "Did she sing?"),  # no name
        ("Did Ann Lee sing well?", "Did she sing?"),  # more was changed
        ("Did A B C D E F G sing?", "Did she sing?"),
        ("Did the album Blue sell?", "Did the album sell?"),  # no pronoun
    ],
)
def test_what_makes_no_title(question, rewrite):
    assert titles(*[put(question, rewrite)] * 2) == ["", ""]


def test_the_most_frequent_and_then_the_longest_text_is_the_title_and_one_that_is_known_stays():
    ann, long = put("Did she sing?", "Did Ann sing?"), put("Did she sing?", "Did Ann Lee sing?")

    assert titles(ann, ann, long) == ["Ann"] * 3
    assert titles(ann, long, ann, long) == ["Ann Lee"] * 4
    assert titles(ann, ann, put("Why?", "Why?", title="Blue")) == ["Ann", "Ann", "Blue"]


def best(example, document):
    """What each mention of *document* is taught to mean; None for one of which nothing is known."""
    texts = ["left alone", *(candidate.text for candidate in look_at(document).candidates)]
    return [texts[int(row.argmax())] if row.any() else None for row in example.right]


def test_the_right_candidate_gets_the_weight(data):
    document = read_examples([data])[1].document
    recorded, *others = training_examples([read_examples([data])[1]])

    assert best(recorded, document) == ["Bob Ray", "Ann Lee", "left alone"]
    assert recorded.right.sum(axis=1) == pytest.approx([1, 1, 1])
    assert all(other.right.sum(axis=1).max() < 1 for other in others)


def test_a_mention_that_people_left_alone_teaches_leaving_alone():
    question = "Did that help?"
    turn = Exchange(question="Who came?", answer="Ann Lee came with the doctor.")
    document = Document(question=question, turns=(turn,))
    (example,) = training_examples([Example(dialog="d", group="g", document=document, rewrite=question)])

    assert best(example, document) == ["left alone"] * 2


def test_what_people_added_teaches_what_was_left_out():
    turn = Exchange(question="What did she make?", answer="The album Blue Moon.")
    document = Document(question="What else?", turns=(turn,))
    example = Example(dialog="d", group="g", document=document, rewrite="What else besides Blue Moon?")

    assert best(training_examples([example])[0], document) == ["Blue Moon"]


def test_an_example_is_also_shown_without_its_title_and_with_a_short_history():
    turns = tuple(Exchange(question=q, answer=a) for q, _, a in SAID)
    document = Document(question="Did she sing?", turns=turns, title="Ann Lee (singer)", section="Life")
    shown = list(dresses(Example(dialog="d", group="g", document=document, rewrite="Did Ann Lee sing?")))

    assert shown[0] == (document, 1.0)
    assert any(not d.title and not d.section for d, _ in shown)
    assert any(len(d.turns) == 2 and d.title for d, _ in shown)
    assert all(weight < 1 for _, weight in shown[1:])


def test_a_pronoun_is_exchanged_where_both_sexes_are_named():
    turn = Exchange(question="Who were his parents?", answer="His mother was Mary Lee.")
    document = Document(question="What did he do?", turns=(turn,), title="John Hooker")
    example = Example(dialog="d", group="g", document=document, rewrite="What did John Hooker do?")
    *_, exchanged = training_examples([example])

    assert exchanged.described.mentions[0, KINDS.index("she")] == 1
    assert best(exchanged, replace(document, question="What did she do?")) == ["Mary Lee", None]
    assert 0 < exchanged.right.sum() < 0.5


def test_the_same_seed_gives_the_same_networks_and_they_learn_what_they_are_shown(data):
    examples = training_examples(read_examples([data])) * 20
    settings = replace(QUICK, epochs=8, learning_rate=1e-2, dropout=0.0)
    one, other, third = (joined([fit_network(examples, settings, seed)]) for seed in (1, 1, 2))

    assert all(np.array_equal(packed(one)[name], packed(other)[name]) for name in packed(one))
    assert not np.array_equal(one.candidate, third.candidate)
    document = read_examples([data])[1].document
    known = training_examples([read_examples([data])[1]])[0]
    taught = [row.argmax() for row in known.right]
    assert [row.argmax() for row in one.probabilities(known.described)] == taught
    assert best(known, document)[:2] == ["Bob Ray", "Ann Lee"]


def test_networks_stand_side_by_side_and_their_scores_are_averaged(data):
    (known, *_), seen = training_examples(read_examples([data])), []
    networks = [fit_network([known] * 4, QUICK, seed) for seed in (1, 2)]
    for some in (networks[:1], networks[1:], networks):
        seen.append(np.log(joined(some).probabilities(known.described)))
    one, other, both = (table - table[:, :1] for table in seen)  # up to a constant, scores

    assert both == pytest.approx((one + other) / 2, abs=1e-3)


def test_stored_networks_read_alike():
    arrays = packed(shipped())

    assert all(array.dtype == np.float16 for array in arrays.values())
    again = packed(unpacked(arrays))
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


JUDGED = [
    {
        "id": f"talk {number}",
        "turns": [
            {
                "question": "Who came?", "gold_answer": "Ann Lee.", "own_answer": "Bob Ray.",
                "means_the_same": None, "rewrite_names": None, "refers_by": None,
            },
            {
                "question": "When did she sing?", "gold_answer": "In 1990.", "own_answer": "In 1990.",
                "means_the_same": False, "rewrite_names": ["Ann Lee"], "refers_by": "pronoun",
            },
        ],
    }
    for number in range(4)
]  # fmt: skip


@pytest.fixture
def dialogues(tmp_path):
    path = tmp_path / "dialogues.json"
    path.write_text(json.dumps(JUDGED), "utf-8")
    return path


def test_every_second_dialogue_is_held_back_from_the_lessons(data, dialogues):
    given = lessons([data], [dialogues])

    assert [turn.dialog for turn in given.judged] == ["talk 0", "talk 2"]
    assert len(given.examples) == 3
    assert given.made_up == []  # of two names


@pytest.fixture(scope="module")
def small_lessons(tmp_path_factory):
    """A few questions of several articles, with names and places enough to make turns up."""
    folder = tmp_path_factory.mktemp("lessons")
    talks = []
    for number, (name, place) in enumerate(
        [("Ann Lee", "Rome"), ("Tom Hale", "Port Ellis"), ("Ida Moor", "Oslo"), ("Max Reed", "Lima"),
         ("Eva Stone", "Cork"), ("Rolf Vane", "Bern")]
    ):  # fmt: skip
        said = f"It was in {place} that Quill Marlo, Petra Holm and Olu Brandvik met {name} on a long tour."
        history = [name, "Life"]
        for depth, (question, rewrite, answer) in enumerate(
            [
                ("Who taught her?", f"Who taught {name}?", said),
                ("Did she like that?", f"Did {name} like that?", f"Yes, {name} did, with Dr Bo Cray."),
                ("What else?", f"What else about {name}?", "No more is known."),
            ],
            1,
        ):
            row = {"History": list(history), "QuAC_dialog_id": f"d{number}", "Question": question}
            talks.append({**row, "Question_no": depth, "Rewrite": rewrite})
            history += [question, answer]
    (folder / "canard.json").write_text(json.dumps(talks), "utf-8")
    (folder / "dialogues.json").write_text(json.dumps(JUDGED), "utf-8")
    given = lessons([folder / "canard.json"], [folder / "dialogues.json"])
    return Lessons(examples=given.examples, made_up=given.made_up[:60], judged=given.judged)


@pytest.fixture(scope="module")
def learned(small_lessons):
    return train(small_lessons, replace(QUICK, networks=1, epochs=1), jobs=1)


def test_training_gives_weights_of_all_and_of_each_fold(learned):
    whole, folds = learned

    assert len(folds) == FOLDS
    everything = [whole, *folds]
    assert len({weights.ensemble.candidate.tobytes() for weights in everything}) == FOLDS + 1
    assert len({weights.drift.hidden.tobytes() for weights in everything}) > 1
    assert {weights.drift.mean.shape for weights in everything} == {(WIDTH,)}
    assert all(weights.edit.thresholds.size for weights in everything)


def test_written_weights_are_loaded_as_they_were(learned, tmp_path):
    whole, _ = learned
    whole.write(tmp_path)
    again = Weights.load(tmp_path)
    document = Document(
        question="Did she like it?", title="Ann Lee", turns=(Exchange(question="?", answer="A tea."),)
    )

    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.npz")) == [
        "drift.npz",
        "edit.npz",
        "embedded/weights.npz",
    ]
    assert again.read(document) == whole.read(document)
    assert again.read(document)[0].distribution
    row = [0.5] * WIDTH
    assert again.drift.probabilities([row]) == pytest.approx(whole.drift.probabilities([row]), abs=1e-4)


def test_the_same_lessons_give_the_same_weights_again(small_lessons, learned):
    again, _ = train(small_lessons, replace(QUICK, networks=1, epochs=1), jobs=1)

    assert packed(again.ensemble).keys() == packed(learned[0].ensemble).keys()
    assert np.array_equal(again.ensemble.hidden, learned[0].ensemble.hidden)
    assert np.array_equal(again.drift.hidden, learned[0].drift.hidden)


def test_the_command_writes_weights(data, dialogues, tmp_path, capsys, monkeypatch, learned):
    whole, folds = learned
    given = []
    monkeypatch.setattr(
        command,
        "train",
        lambda lessons, settings, jobs: given.append((lessons, settings, jobs)) or (whole, folds),
    )
    out, by_fold = tmp_path / "out", tmp_path / "folds"
    arguments = [str(data), "--dialogues", str(dialogues), "--out", str(out), "--folds", str(by_fold)]

    assert command.main([*arguments, "--networks", "1", "--epochs", "2", "--seed", "3", "--jobs", "1"]) == 0
    ((learned_from, settings, jobs),) = given
    assert (settings.networks, settings.epochs, settings.seed, jobs) == (1, 2, 3, 1)
    assert (len(learned_from.examples), len(learned_from.judged)) == (3, 2)
    assert "3 questions of 1 articles and topics, 2 of dialogues, 1 networks" in capsys.readouterr().out
    assert np.array_equal(Weights.load(out).ensemble.hidden, whole.ensemble.hidden)
    for number, weights in enumerate(folds):
        assert np.array_equal(Weights.load(by_fold / str(number)).ensemble.hidden, weights.ensemble.hidden)


def test_the_command_says_what_it_cannot_read(data, tmp_path, capsys):
    assert command.main([str(tmp_path / "none.json"), "--out", str(tmp_path / "w")]) == 1
    assert "none.json" in capsys.readouterr().err
    wrong = tmp_path / "dialogues.json"
    wrong.write_text("[{}]", "utf-8")
    assert command.main([str(data), "--dialogues", str(wrong), "--out", str(tmp_path / "w")]) == 1
    assert "dialogues.json" in capsys.readouterr().err


def test_the_shipped_weights_are_small_and_their_licence_stands_beside_them():
    coreference = resources.files("replay.coreference")
    embedded = coreference.joinpath("embedded")
    files = [
        embedded.joinpath("weights.npz"),
        *(coreference.joinpath(name) for name in ("drift.npz", "edit.npz", "vectors.npz")),
    ]

    assert sum(len(file.read_bytes()) for file in files) < 2_000_000
    assert "CC BY-SA 4.0" in embedded.joinpath("WEIGHTS.LICENSE.txt").read_text("utf-8")
