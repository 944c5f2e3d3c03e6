"""Conversations from a folder of documents: what is in them, and what is left out."""

from collections import Counter

import msgspec
import pytest

from replay import CANNOT_ANSWER
from replay.core.errors import InputError
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.synthesis.synthesis_settings import Shares, SynthesisSettings, shares_of
from replay.synthesis.synthesize import FOUND_WITHOUT, NOT_FOUND, synthesize
from replay_adapters.local.extractive import ExtractiveAdapter


def made(documents, *, system=None, resolver=None, **settings):
    given = {"conversations": 8, "turns": 5} | settings
    return synthesize([documents], SynthesisSettings(**given), system=system, resolver=resolver)


@pytest.fixture(scope="module")
def plain(pages):
    return made(pages)


def about(conversations):
    """Turns with what is known of them by construction."""
    for conversation in conversations:
        yield from zip(conversation.turns, conversation.metadata["synthesized"], strict=True)


def test_equal_documents_and_seeds_make_equal_conversations(pages, plain):
    again, other = made(pages), made(pages, seed=1)
    assert again.conversations == plain.conversations != other.conversations
    assert again.signature == plain.signature != other.signature


def test_each_answer_stands_where_its_turn_says_and_is_asked_for_once(plain):
    places = Counter()
    for conversation in plain.conversations:
        texts = {passage.id: passage.text for passage in conversation.passages}
        for turn, known in about([conversation]):
            if known["move"] == "unanswerable":
                assert (turn.gold_answer, turn.gold_passages) == (CANNOT_ANSWER, ())
                continue
            place = known["answer"]
            assert texts[place["passage"]][place["start"] : place["end"]] == turn.gold_answer
            assert turn.gold_passages == (place["passage"],)
            places[place["passage"], place["start"]] += 1
    assert set(places.values()) == {1}


def test_what_a_question_leans_on_stands_in_its_standalone_form(plain):
    ways = Counter()
    for conversation in plain.conversations:
        for depth, (turn, known) in enumerate(about([conversation]), 1):
            for reference in known.get("references", ()):
                ways[reference["way"]] += 1
                assert reference["depth"] < depth
                assert reference["antecedent"].lower() in turn.standalone.lower()
                assert turn.question[reference["start"] : reference["end"]] == reference["text"]
        assert conversation.turns[0].question == conversation.turns[0].standalone
    assert ways["pronoun"] > 0
    assert ways["ellipsis"] > 0


def test_shares_move_what_is_made(pages):
    plain = made(pages, shares=Shares(anaphora=0, ellipsis=0, unanswerable=0, shift=0.3))
    references = [one for _, known in about(plain.conversations) for one in known.get("references", ())]
    assert {one["way"] for one in references} == {"setting"}
    open_ended = made(pages, shares=Shares(anaphora=0.2, ellipsis=0.1, unanswerable=0.3, shift=0.1))
    moves = Counter(known["move"] for _, known in about(open_ended.conversations))
    assert moves["unanswerable"] / (8 * 4) == pytest.approx(0.3, abs=0.1)


def test_documents_are_asked_for_no_more_than_they_carry(pages):
    with pytest.raises(InputError, match=r"carry \d+ conversations of 5 turns, and 900 are asked for"):
        made(pages, conversations=900)


def test_only_what_the_system_finds_in_the_passage_is_asked(documents):
    documents = documents.rename(documents.with_name("cloud"))
    all_asked, found = made(documents), made(documents, system=ExtractiveAdapter())
    left_out = found.rejected - all_asked.rejected
    assert set(left_out) <= {NOT_FOUND, FOUND_WITHOUT}
    assert found.questions == all_asked.questions - left_out.total() < all_asked.questions


def test_the_resolver_marks_what_it_finds(pages):
    found = made(pages, resolver=EmbeddedResolver())
    marks = Counter(known["resolver"] for _, known in about(found.conversations) if "resolver" in known)
    assert marks.total() == found.references.total() > 0
    assert marks["found"] == sum(n for name, n in found.references.items() if not name.endswith("not found"))


def test_a_question_with_two_answers_is_not_asked(documents):
    for name in ("red", "blue"):
        text = f"# Keys\n\nA master key is a file of team {name}. It is long.\n\nIt is old. It is safe.\n"
        (documents / f"{name}.md").write_text(text, "utf-8")
    found = made(documents)
    assert found.rejected["the same question has other answers elsewhere"] >= 2
    assert not any(turn.standalone == "What is a master key?" for turn, _ in about(found.conversations))


def test_what_no_shares_can_be_is_told():
    with pytest.raises(ValueError, match=r"sum to 1\.2"):
        Shares(anaphora=0.9, ellipsis=0.2, unanswerable=0.1, shift=0)
    with pytest.raises(ValueError, match='no share "anafora"'):
        shares_of("quac", {"anafora": 0.2})
    with pytest.raises(ValueError, match='no preset "squad"'):
        shares_of("squad", {})
    assert shares_of("quac", {"shift": 0.04}) == msgspec.structs.replace(shares_of("quac", {}), shift=0.04)
