"""From files to training examples; what is held out never gets among them."""

from __future__ import annotations

import json

import pytest

from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.training.annotated import Example, is_held_out
from replay.coreference.training.prepare import TrainingFiles, by_source, prepare
from tests.coreference.reading.made_up import pieces
from tests.coreference.training.test_annotated import rows, turn, written

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
PIECES = pieces("ann", "lee", "bob", "ray", "she", "he", "her")


def group_that(held):
    """A title whose questions are held out, or not."""
    titles = (f"Ann Lee {number}" for number in range(1000))
    asked = Document(question="Why?", turns=(Exchange(question="Who?", answer="Ann."),))
    return next(
        title
        for title in titles
        if is_held_out(
            Example(dialog="d", group=title.lower(), document=asked, rewrite="Why?", source="talks")
        )
        == held
    )


def rewrites(folder, title):
    path = folder / "talks.json"
    path.write_text(json.dumps([*rows(title=title)]), "utf-8")
    return path


def made(**files):
    return prepare(TrainingFiles(**files), PIECES, processes=1)


def sources(examples):
    return {source: count for source, count, _ in by_source(examples)}


def test_rewrites_become_examples_questions_made_to_lean_and_pairs(tmp_path):
    path = rewrites(tmp_path, group_that(held=False))
    found = sources(made(rewrites=[path]))

    assert 3 <= found["talks"] <= 5  # two of them lean on no title, so that they can be shown without
    assert set(found) <= {"talks", "silver", "pair talks"}


def test_parts_can_be_left_out_and_sources_are_counted_with_those_that_lean_or_changed(tmp_path):
    found = made(rewrites=[rewrites(tmp_path, group_that(held=False))], silver=False, pairs=False)
    assert set(sources(found)) == {"talks"}
    assert all(example.changed is None for example in found)

    path = written(tmp_path, [turn("Who?", gold="Ann Lee.", own="Bob Ray."), MARKED])
    assert set(sources(made(dialogues=[path], pairs=False, silver=False))) == {"dialogue"}
    found = made(dialogues=[path], silver=False)
    assert [*by_source(found)] == [("dialogue", 2, 2), ("pair dialogue", 2, 2)]


def test_what_is_held_out_is_not_among_them(tmp_path):
    assert made(rewrites=[rewrites(tmp_path, group_that(held=True))]) == []


def test_the_same_seed_gives_the_same_examples(tmp_path):
    files = TrainingFiles(rewrites=[rewrites(tmp_path, group_that(held=False))])
    first, again = prepare(files, PIECES, processes=1), prepare(files, PIECES, processes=2)

    assert first == again


MARKED = turn(
    "When did she leave?", gold="Then.", same=False, names=["Ann Lee"], by="pronoun",
    standalone="When did Ann Lee leave?", leans_on=["Ann Lee"], leans_on_own=["Bob Ray"],
)  # fmt: skip


def test_a_dialogues_question_is_shown_after_both_answers_and_as_a_pair(tmp_path):
    path = written(tmp_path, [turn("Who?", gold="Ann Lee.", own="Bob Ray."), MARKED])
    found = made(dialogues=[path])
    after_gold, after_own = sorted((e for e in found if e.source == "dialogue"), key=lambda e: -e.weight)
    there, back = [e for e in found if e.source == "pair dialogue"]

    assert set(sources(found)) == {"dialogue", "pair dialogue", "dialogue silver"}
    assert after_gold.inserts == after_own.inserts != []
    assert after_gold.pointers
    assert after_own.pointers
    assert after_gold.ids != after_own.ids
    assert (there.changed, back.changed) == (1.0, 1.0)
    assert there.ids != back.ids


def test_of_older_dialogues_every_second_is_held_out(tmp_path):
    talk = [turn("Who?", gold="Ann Lee.", own="Bob Ray."), turn("Why?", same=True, by="nothing")]

    assert sources(made(older_dialogues=[written(tmp_path, talk, talk, talk)])) == {
        "older dialogue": 2,
        "pair older dialogue": 2,
    }


def test_an_exchange_is_a_line(tmp_path):
    path = tmp_path / "exchanges.txt"
    path.write_text(
        "- | Ann Lee sings. | Is she old? | Ann Lee | Is Ann Lee old?\n"
        "Who? | Ann Lee sings. | What is the capital of France? | - | =\n",
        "utf-8",
    )
    leaning, standing = sorted(made(exchanges=[path]), key=lambda e: -len(e.inserts))

    assert (len(leaning.inserts), len(leaning.pointers)) == (1, 1)
    assert (standing.inserts, standing.pointers, standing.source) == ([], [], "exchange")


def test_a_line_of_another_form_is_no_exchange(tmp_path):
    path = tmp_path / "exchanges.txt"
    path.write_text("Who? | Ann Lee sings.\n", "utf-8")

    with pytest.raises(ValueError, match="not enough values"):
        made(exchanges=[path])
