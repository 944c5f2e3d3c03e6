"""Training, from a file with human rewrites to weights."""

import json

import numpy as np
import pytest
from replay.coreference.embedded.mention_features import KINDS

from replay.core.history import Exchange
from replay.coreference.embedded.features import describe
from replay.coreference.embedded.network import Network, shipped, unpacked
from replay.coreference.embedded.ranker import read_document
from replay.coreference.embedded.scene import look_at
from replay.coreference.resolver import Document
from replay.coreference.training import train as command
from replay.coreference.training.annotated_questions import Example, read_examples
from replay.coreference.training.fit_networks import (
    FitSettings,
    TrainingExample,
    _gradients,
    _initial,
    fit_ensemble,
)
from replay.coreference.training.train import packed
from replay.coreference.training.training_examples import dresses, training_examples

SAID = [
    ("Who taught her?", "Who taught Ann Lee?", "The pianist Bob Ray."),
    ("Did he like her?", "Did Bob Ray like Ann Lee?", "He did."),
    ("When did she leave?", "When did Ann Lee leave?", "In 1990."),
]
QUICK = FitSettings(networks=2, width=8, hidden_width=4, epochs=3)


@pytest.fixture
def data(tmp_path):
    rows, history = [], ["Ann Lee", "Early life"]
    for number, (question, rewrite, answer) in enumerate(SAID, 1):
        rows.append(
            {
                "History": list(history),
                "QuAC_dialog_id": "d",
                "Question": question,
                "Question_no": number,
                "Rewrite": rewrite,
            }
        )
        history += [question, answer]
    path = tmp_path / "canard.json"
    path.write_text(json.dumps(rows), "utf-8")
    return path


def test_examples_have_the_whole_history_and_the_rewrite(data):
    examples = read_examples([data])

    assert [len(e.document.turns) for e in examples] == [0, 1, 2]
    assert [e.rewrite for e in examples] == [rewrite for _, rewrite, _ in SAID]
    assert {(e.group, e.fold) for e in examples} == {("ann lee", examples[0].fold)}
    assert 0 <= examples[0].fold < 5


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


def as_recorded(example):
    """What *example* teaches without the other forms of it, which count less."""
    return [taught for taught in training_examples([example]) if taught.weight == 1]


def test_the_right_candidate_gets_the_weight(data):
    example = read_examples([data])[1]
    scene = look_at(example.document)
    examples = as_recorded(example)

    assert len(examples) == len(scene.mentions) == 2
    texts = ["", *(candidate.text for candidate in scene.candidates)]
    assert [texts[int(example.right.argmax())] for example in examples] == ["Bob Ray", "Ann Lee"]
    assert all(example.right.sum() == pytest.approx(1) for example in examples)


def test_a_mention_that_people_left_alone_teaches_leaving_alone():
    question = "Did that help?"
    turn = Exchange(question="Who came?", answer="Ann Lee came with the doctor.")
    document = Document(question=question, turns=(turn,))
    (example,) = as_recorded(Example(dialog="d", group="g", document=document, rewrite=question))

    assert example.right.tolist() == [1.0] + [0.0] * (len(example.rows) - 1)


def test_an_example_is_also_shown_without_its_title_and_with_a_short_history(data):
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
    taught = training_examples([example])
    exchanged = [one for one in taught if one.mention[KINDS.index("she")]]

    assert exchanged
    assert {one.weight for one in exchanged} < {one.weight for one in taught}


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(0)
    examples = [
        TrainingExample(
            np.concatenate([np.eye(len(KINDS))[kind], rng.normal(size=3)]).astype(np.float32),
            rng.normal(size=(rows, 4)).astype(np.float32),
            np.eye(rows, dtype=np.float32)[1],
            weight,
        )
        for kind, rows, weight in ((0, 3, 1.0), (3, 5, 0.5))
    ]
    parameters = _initial(len(KINDS) + 3, 4, QUICK, rng)
    parameters["wide"] += 0.1
    wide = {name: values.astype(np.float64) for name, values in parameters.items()}

    def loss(changed):
        network = Network(**changed)
        return sum(
            -example.weight * np.log(probabilities(network, example) @ example.right) for example in examples
        ) / len(examples)

    gradients = _gradients(parameters, examples, 0.0, rng)
    for name, values in wide.items():
        place = tuple(0 for _ in values.shape)
        step = np.zeros_like(values)
        step[place] = 1e-5
        slope = (loss({**wide, name: values + step}) - loss({**wide, name: values - step})) / 2e-5
        assert gradients[name][place] == pytest.approx(slope, abs=1e-4), name


def probabilities(network, example):
    scores = network.scores(example.mention.astype(np.float64), example.rows.astype(np.float64))
    return np.exp(scores) / np.exp(scores).sum()


def test_the_same_seed_gives_the_same_networks_and_learns_what_it_is_shown(data):
    examples = training_examples(read_examples([data])) * 20
    one, other = fit_ensemble(examples, QUICK), fit_ensemble(examples, QUICK)

    assert all(np.array_equal(packed(one)[name], packed(other)[name]) for name in packed(one))
    document = read_examples([data])[1].document
    assert [c.reading.antecedent for c in read_document(document, one)] == ["Bob Ray", "Ann Lee"]


def test_stored_networks_read_alike():
    arrays = packed(shipped())

    assert all(array.dtype == np.float16 for array in arrays.values())
    again = packed(unpacked(arrays))
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


def test_leaving_alone_and_candidates_share_the_probability():
    scene = look_at(Document(question="Did she sing?", title="Ann Lee"))
    found = shipped().probabilities(*describe(scene)[0])

    assert len(found) == len(scene.candidates) + 1
    assert found.sum() == pytest.approx(1)


def test_the_command_writes_weights(data, tmp_path, capsys):
    out = tmp_path / "weights.npz"

    assert command.main([str(data), "--out", str(out), "--networks", "1", "--epochs", "1"]) == 0
    assert "3 questions of 1 articles" in capsys.readouterr().out
    with np.load(out) as stored:
        assert len(unpacked(stored).networks) == 1


def test_the_command_says_what_it_cannot_read(tmp_path, capsys):
    assert command.main([str(tmp_path / "none.json"), "--out", str(tmp_path / "w.npz")]) == 1
    assert "none.json" in capsys.readouterr().err


def test_the_shipped_weights_are_small_and_fit_the_features():
    from importlib import resources

    folder = resources.files("replay.coreference.embedded")
    assert len(folder.joinpath("weights.npz").read_bytes()) < 300_000
    assert "CC BY-SA 4.0" in folder.joinpath("WEIGHTS.LICENSE.txt").read_text("utf-8")
    ((mention, rows),) = describe(look_at(Document(question="Did she sing?", title="Ann Lee")))
    network = shipped().networks[0]
    assert network.mention.shape[0] == len(mention)
    assert network.candidate.shape[0] == rows.shape[1] + 1
