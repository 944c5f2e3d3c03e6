"""Training and exporting a small random network; nothing here says how well the shipped one reads."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnx", reason="onnx, which exporting needs, is not installed")

from replay.coreference.reading import decisions  # noqa: E402
from replay.coreference.reading.decisions import Decisions, Logistic  # noqa: E402
from replay.coreference.reading.network import (  # noqa: E402
    Network,
)
from replay.coreference.reading.sequence import sequence_of  # noqa: E402
from replay.coreference.training.annotated import Example  # noqa: E402
from replay.coreference.training.examples import from_pair, from_rewrite  # noqa: E402
from replay.coreference.training.export import export, load  # noqa: E402
from replay.coreference.training.network import (  # noqa: E402
    BATCH_TOKENS,
    Batch,
    ReaderNetwork,
    batches,
    fit,
    loss_of,
)
from replay.coreference.training.train import (  # noqa: E402
    begin_network,
    course,
    fit_logistic,
    in_foreign_histories,
    vocabulary,
    write,
)
from tests.coreference.reading.made_up import document, pieces  # noqa: E402

# Of exporting by tracing, of quantizing, and of sums in lower precision.
pytestmark = pytest.mark.filterwarnings("ignore")

PIECES = pieces(
    "where", "was", "she", "born", "ann", "lee", "is", "a", "singer", "who", "that", "her", "song"
)
SINGER = document("Where was she born?", "Who is that?", "Ann Lee is a singer.")
OWNER = document("Was her song a song?", "Who?", "Is Bob? Ann Lee.", title="Lee")
STANDING = document("Who is Ann Lee?", "Who is that?", "Lee is born.")
EXAMPLES = [
    from_rewrite(PIECES, SINGER, "Where was Ann Lee born?"),
    from_rewrite(PIECES, OWNER, "Was Ann Lee's song a song?", weight=0.5),
    from_rewrite(PIECES, STANDING, STANDING.question),
    from_pair(PIECES, SINGER, SINGER, ["Ann Lee"], changed=0.0),
    from_pair(PIECES, SINGER, document(SINGER.question, "Who is that?", "a song"), ["Ann Lee"], changed=1.0),
]


def made(seed=0):
    torch.manual_seed(seed)
    return ReaderNetwork(len(PIECES.vocabulary), layers=1)


def loss(network, examples):
    network.eval()
    with torch.no_grad():
        return float(loss_of(network, Batch(examples)))


@pytest.fixture(scope="module")
def trained():
    network = made()
    fit(network, [EXAMPLES] * 25, say=lambda line: None)
    return network


def test_the_loss_falls_on_what_is_shown(trained):
    assert loss(trained, EXAMPLES) < 0.5 * loss(made(), EXAMPLES)


@pytest.mark.parametrize(
    "shown",
    [EXAMPLES[:1], EXAMPLES[1:2], EXAMPLES[2:3], EXAMPLES[3:]],
    ids=["a pronoun", "an owner", "nothing", "pairs"],
)
def test_every_kind_of_example_is_learned_from(trained, shown):
    assert loss(trained, shown) < loss(made(), shown)


def test_the_same_seed_gives_the_same_weights():
    one, other = made(), made()
    for network in (one, other):
        fit(network, [EXAMPLES] * 2, seed=3, say=lambda line: None)

    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_embeddings_and_frozen_layers_stay_and_the_rest_is_fitted():
    network, before = made(), made()
    fit(network, [EXAMPLES], frozen=1, say=lambda line: None)

    assert torch.equal(network.words.weight, before.words.weight)
    assert torch.equal(network.layers[0].qkv.weight, before.layers[0].qkv.weight)
    assert not torch.equal(network.tags.weight, before.tags.weight)


def test_an_example_costs_by_its_weight():
    network = made()
    light, heavy = (loss(network, [replace(EXAMPLES[0], weight=w, capitals=[])]) for w in (1.0, 3.0))

    assert heavy == pytest.approx(3 * light, rel=1e-3)


def test_a_place_whose_tags_are_not_known_costs_nothing():
    network = made()
    known = replace(EXAMPLES[2], capitals=[])
    unknown = replace(known, untagged=[*range(known.asked)])

    assert loss(network, [known]) > 0
    assert loss(network, [unknown]) == 0


def test_any_of_the_places_that_say_it_is_right():
    network = made()
    (position, spans), more = EXAMPLES[0].pointers[0], (1, 1)
    one = replace(EXAMPLES[0], pointers=[(position, [more, *spans])])

    assert loss(network, [one]) < loss(network, [EXAMPLES[0]])


def test_padding_changes_nothing():
    """What is batched with longer ones costs the same."""
    network = made()
    alone = [loss(network, [example]) for example in EXAMPLES[:3]]

    assert loss(network, EXAMPLES[:3]) == pytest.approx(sum(alone) / 3, rel=0.05)


def test_batches_hold_every_example_once_and_are_no_larger_than_they_may_be():
    many = [replace(EXAMPLES[n % 5], source=str(n)) for n in range(900)]
    found = [*batches(many, random.Random(1))]

    assert sorted(int(e.source) for batch in found for e in batch) == [*range(900)]
    assert len(found) > 1
    assert all(len(batch) * max(len(e.ids) for e in batch) <= BATCH_TOKENS for batch in found)


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "in eight bits"])
def exported(request, trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    export(trained, folder / "reader.onnx", in_eight_bits=request.param)
    names = sorted(PIECES.vocabulary, key=PIECES.vocabulary.__getitem__)
    (folder / "vocabulary.txt").write_text("".join(f"{name}\n" for name in names), "utf-8")
    return Network(folder), request.param


def test_what_is_exported_says_what_torch_says(exported, trained):
    network, in_eight_bits = exported
    sequence = sequence_of(network.pieces, SINGER)
    output = network.run(sequence)
    ids, roles = torch.tensor([sequence.ids]), torch.tensor([sequence.roles])
    trained.eval()
    with torch.no_grad():
        x = trained.encode(ids, roles, torch.ones_like(ids))
        tags, start, end, phrases, preposition, here, there, capital = trained.read(x, len(sequence.ids))
        verdict = trained.judge(x)
    pairs = [
        (output.tags, tags),
        (np.stack([output.start_from(n) for n in range(len(sequence.ids))]), start),
        (np.stack([output.end_from(n) for n in range(len(sequence.ids))]), end),
        (output.phrases(slice(None)), phrases),
        (output.preposition, preposition),
        (output.article_here, here),
        (output.article_there, there),
        (output.capital, capital),
        (output.verdict, verdict),
    ]

    for found, expected in pairs:
        wanted = expected.reshape(found.shape).numpy()
        off = np.abs(found - wanted).max()
        assert off < (0.05 * max(1.0, np.abs(wanted).max()) if in_eight_bits else 1e-3)


def test_what_was_exported_can_be_trained_further(trained, tmp_path):
    export(trained, tmp_path / "reader.onnx")
    (tmp_path / "vocabulary.txt").write_text("ann\n", "utf-8")
    network = begin_network(tmp_path / "out", tmp_path, layers=6, is_pretrained=True)

    assert (tmp_path / "out" / "vocabulary.txt").read_text("utf-8") == "ann\n"
    assert len(network.layers) == 1
    assert loss(network, EXAMPLES) == pytest.approx(loss(trained, EXAMPLES), rel=0.1)
    fit(network, [EXAMPLES] * 5, say=lambda line: None)
    assert loss(network, EXAMPLES) < loss(load(tmp_path / "reader.onnx"), EXAMPLES)


def test_a_course_takes_each_source_as_often_as_it_says():
    examples = [replace(EXAMPLES[0], source=s) for s in ("a", "b", "pair a", "pair b", "c") * 200]
    times = {"a": 2.5, "b": 0, "pair b": 1, "pair": 0.5, "": 3}
    found = [e.source for e in course(examples, times, random.Random(0))]

    assert 400 < found.count("a") < 600
    assert 0 < found.count("pair a") < 200
    assert [found.count(source) for source in ("b", "pair b", "c")] == [0, 200, 600]


def test_where_a_course_says_nothing_of_pairs_they_are_as_all_others():
    examples = [replace(EXAMPLES[0], source=s) for s in ("a", "pair a")]

    assert len(course(examples, {"": 2}, random.Random(0))) == 4


def test_pieces_of_other_scripts_are_left_out_of_the_vocabulary(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[unused0]\nann\n##é\n李\n“\n##s\n", "utf-8")

    assert vocabulary(tmp_path) == (["[PAD]", "ann", "“", "##s"], [0, 2, 5, 6])


def test_a_regression_finds_what_parts_the_cases_and_minds_their_weights():
    features = [[1.0, x] for x in (-2.0, -1.0, 1.0, 2.0)]
    told = fit_logistic(features, [0, 0, 1, 1], [1] * 4)
    rare = fit_logistic([[0.0]] * 2, [0, 1], [3, 1])

    assert [round(told.probability(f)) for f in features] == [0, 0, 1, 1]
    assert rare.probability([0.0]) == pytest.approx(0.25, abs=0.01)


def test_a_standalone_question_comes_after_the_history_of_another_group():
    mine = Example(dialog="1", group="a", document=SINGER, rewrite="Where was Ann Lee born?")
    same = Example(dialog="2", group="a", document=OWNER, rewrite="Was Ann Lee's song a song?")
    other = Example(dialog="3", group="b", document=STANDING, rewrite="Who is Ann Lee?")
    first, second = in_foreign_histories([mine, same, other])

    assert (first.question, first.turns) == (same.rewrite, STANDING.turns)
    assert (second.question, second.turns) == (other.rewrite, SINGER.turns)


def test_decisions_are_written_beside_the_weights_and_found_there(tmp_path):
    one, other = (
        Decisions(
            verdict=Logistic(coefficients=(c,), intercept=0), edit=Logistic(coefficients=(), intercept=c)
        )
        for c in (1.0, 2.0)
    )
    write(tmp_path, one)
    assert decisions.load(tmp_path) == one
    write(tmp_path, other)
    assert decisions.load(tmp_path) == other
