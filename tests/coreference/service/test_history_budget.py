"""How much of a conversation a model is shown."""

from __future__ import annotations

from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.service.llm import fit_histories


def document(*lengths, background=""):
    """Exchanges whose answers have *lengths* and begin with their number."""
    turns = tuple(
        Exchange(question="?" * 10, answer=f"{n}".ljust(length, ".")) for n, length in enumerate(lengths, 1)
    )
    return Document(question="Why?", turns=turns, background=background)


def shown(*documents, characters=200):
    return [[turn.answer[0] for turn in one.turns] for one in fit_histories(documents, characters)]


def test_what_fits_stays_as_it_is():
    (whole,) = fit_histories([document(40, 50, 70)], 200)
    assert whole == document(40, 50, 70)


def test_the_oldest_exchanges_give_way_whole():
    assert shown(document(80, 80, 80)) == [["2", "3"]]


def test_the_other_history_is_cut_to_as_many_exchanges():
    assert shown(document(80, 80, 80), document(5, 5, 5)) == [["2", "3"], ["2", "3"]]


def test_a_shorter_conversation_cuts_no_other_one():
    """Of a filtered conversation the own history has fewer exchanges."""
    assert shown(document(80, 80, 80), document(5)) == [["2", "3"], ["1"]]
    assert shown(document(5, 5, 5), document()) == [["1", "2", "3"], []]


def test_the_newest_exchange_is_always_shown_without_the_middle_of_what_is_too_long():
    long = document(95, 9_000, background="b" * 9_000)
    (one,) = fit_histories([long], 200)
    (turn,) = one.turns
    assert turn.answer == f"2{'.' * 47}\n…\n{'.' * 48}"
    assert len(one.background) == 99
    assert one.shortened == 2


def test_one_exchange_fits_whatever_its_lengths():
    turn = Exchange(question="q" * 500, answer="a" * 500)
    (one,) = fit_histories([Document(question="Why?", turns=(turn, turn))], 200)
    assert len(one.turns) == 1
