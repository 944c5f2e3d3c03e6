"""What a model says a question leans on: what is taken from it, and what is sent back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from replay.core.history import Exchange
from replay.coreference.llm_reply import UnusableReplyError, drift_in, readings_in
from replay.coreference.resolver import Document

GOLD = Document(
    question="Did she say where she was born, and what else?",
    title="Stone Garden (album)",
    turns=(
        Exchange(question="Who sang it?", answer="Alice  Okafor’s\ncousin sang it."),
        Exchange(question="Where?", answer="In Port Ellis."),
    ),
)
OWN = replace(GOLD, turns=(Exchange(question="Who sang it?", answer="Ben Achterberg did."),))


def reference(text="she", recorded="Alice Okafor's cousin", own="Ben Achterberg", same=False):
    return {"text": text, "recorded": recorded, "own": own, "same": same}


def reply(*references, same_meaning=False):
    return json.dumps({"references": references, "same_meaning": same_meaning})


def drift(*references, **said):
    return drift_in(reply(*references, **said), GOLD, OWN)


def test_a_quote_is_found_whatever_its_case_and_spaces_and_kept_as_it_was_said():
    (mention,) = drift(reference(recorded='"alice okafor\'s COUSIN."', own="ben  achterberg")).mentions
    assert (mention.gold.antecedent, mention.gold.source) == ("Alice  Okafor’s\ncousin", "answer")
    assert (mention.predicted.antecedent, mention.predicted.source) == ("Ben Achterberg", "answer")


@pytest.mark.parametrize(
    ("quote", "source"), [("Stone Garden", "title"), ("Port Ellis", "answer"), ("Who sang it", "question")]
)
def test_where_a_quote_stands_is_its_source(quote, source):
    (reading,) = readings_in(json.dumps({"references": [{"text": "she", "recorded": quote}]}), GOLD)
    assert (reading.antecedent, reading.source) == (quote, source)


def test_mentions_are_placed_one_after_another():
    """Models can't count characters, so nobody asks them to."""
    found = drift(reference("what  ELSE"), reference("she"), reference("she"), reference("")).mentions
    mentions = [one.gold.mention for one in found]
    assert [(m.start, m.end, m.text, m.kind) for m in mentions] == [
        (4, 7, "she", "she"),
        (18, 21, "she", "she"),
        (36, 45, "what else", "other"),
        (45, 45, "", "ellipsis"),
    ]
    assert [one.predicted.mention for one in found] == mentions


@pytest.mark.parametrize(
    ("question", "text", "kind"),
    [
        ("Who saw her mother?", "her", "she"),
        ("Is the second one open?", "the second one", "one"),
        ("Is the other open?", "the other", "one"),
        ("Is it open then?", "then", "then"),
        ("How many live there?", "There", "there"),
        ("Are the tablets old?", "the tablets", "the-noun"),
        ("Was Okafor there?", "Okafor", "other"),
    ],
)
def test_the_kind_of_a_mention_is_told_by_its_words(question, text, kind):
    said = json.dumps({"references": [{"text": text, "recorded": None}]})
    (reading,) = readings_in(said, replace(GOLD, question=question))
    assert (reading.mention.kind, reading.antecedent) == (kind, None)
    assert reading.mention.possessive == (text == "her")


@pytest.mark.parametrize(
    ("said", "state", "probability"),
    [
        (reference(own="Ben Achterberg", same=False), "drifted", 1.0),
        (reference(own="Stone Garden", same=True), "same", 0.0),
        (reference(recorded="Stone Garden", own="Garden", same=False), "drifted", 1.0),
        (reference(own=None), "lost", 1.0),
        (reference(recorded=None), "open", 1.0),
        (reference(recorded=None, own=" ", same=True), "open", 0.0),
    ],
)
def test_the_model_says_what_is_the_same(said, state, probability):
    """Two names of one thing may share no word, and two things may share one."""
    found = drift(said, same_meaning=said["same"])
    assert (found.mentions[0].state, found.mentions[0].probability) == (state, probability)
    assert (found.valid, found.probability, found.mode) == (said["same"], probability, "llm")


def test_a_question_that_leans_on_nothing_means_the_same():
    assert drift(same_meaning=True).valid
    assert drift(same_meaning=True).mentions == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("She is Alice.", "holds no JSON object"),
        ('{"references": [}', "at character"),
        ('{"mentions": []}', "missing required field `references`"),
        ('{"references": []}', "missing required field `same_meaning`"),
        (reply({"text": "she", "recorded": 1, "own": None, "same": False}), "recorded"),
        (reply({"text": "she", "recorded": None, "own": None}), "missing required field `same`"),
        (reply(reference("he")), '"he" does not stand in the question'),
        (reply(reference("sh")), '"sh" does not stand in the question'),
        (reply(*[reference("she")] * 3), '"she" does not stand in the question so often'),
        (reply(reference(""), reference(" ")), 'two references have an empty "text"'),
        (reply(reference(recorded="Ben Achterberg")), '"Ben Achterberg" in "recorded" does not stand'),
        (reply(reference(own="Port Ellis")), '"Port Ellis" in "own" does not stand in that history'),
        (reply(reference(own="Ben Achter")), '"Ben Achter" in "own" does not stand'),
        (reply(reference(recorded="it")), '"it" in "recorded" names nothing'),
        (reply(reference(same=True)), '"same_meaning" is false, but "same" is true for every reference'),
        (reply(reference(), same_meaning=True), '"same_meaning" is true, but "same" is false'),
        (reply(reference(own=None, same=True), same_meaning=True), '"same" is true for "she", but "own" is'),
        (reply(reference(recorded=None, same=True), same_meaning=True), 'but "recorded" is null'),
        (
            reply(reference(recorded=None, own=None)),
            '"same" is false for "she", but "recorded" and "own" are',
        ),
        (reply(same_meaning=False), '"same_meaning" is false'),
    ],
)
def test_what_cant_be_used_is_sent_back_with_the_reason(text, why):
    with pytest.raises(UnusableReplyError) as caught:
        drift_in(text, GOLD, OWN)
    assert why in str(caught.value)


def test_a_title_may_be_a_pronoun():
    film = replace(GOLD, title="It", turns=())
    said = json.dumps({"references": [{"text": "she", "recorded": "it"}]})
    assert readings_in(said, film)[0].antecedent == "It"


def test_scripts_without_spaces_can_be_quoted():
    document = replace(GOLD, turns=(Exchange(question="誰?", answer="村上春樹が書いた。"),))
    said = json.dumps({"references": [{"text": "she", "recorded": "村上春樹"}]})
    assert readings_in(said, document)[0].antecedent == "村上春樹"


TEXTS = st.sampled_from(["", "she", "what", "He", "Port Ellis", "it", "Stone Garden", "\ud83d", ".", "("])
REFERENCES = st.fixed_dictionaries(
    {"text": TEXTS, "recorded": TEXTS | st.none(), "own": TEXTS | st.none(), "same": st.booleans()}
)


@given(st.lists(REFERENCES, max_size=4), st.booleans())
def test_whatever_is_used_stands_where_it_is_said_to(references, same_meaning):
    try:
        found = drift_in(reply(*references, same_meaning=same_meaning), GOLD, OWN)
    except UnusableReplyError:
        return
    assert found.valid == (found.probability == 0) == same_meaning
    for one in found.mentions:
        mention = one.gold.mention
        assert GOLD.question[mention.start : mention.end] == mention.text
        for reading, document in ((one.gold, GOLD), (one.predicted, OWN)):
            assert reading.antecedent is None or reading.antecedent in document.text()
