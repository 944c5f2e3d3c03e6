"""What a model says a question leans on: what is taken from it, and what is sent back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.rewriting import rewrite
from replay.coreference.service.llm_reply import UnusableReplyError, drift_in, readings_in
from replay.coreference.service.quotes import wording_fault
from tests.data_tables import from_table

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


def reply(*references, meaning="other", **said):
    return json.dumps({"references": references, "meaning": meaning, **said})


def drift(*references, **said):
    return drift_in(reply(*references, **said), GOLD, OWN, needs_wording=False)


def readings(document, *references, **said):
    return readings_in(json.dumps({"references": references, **said}), document, needs_wording=False)


def test_a_quote_is_found_whatever_its_case_and_spaces_and_kept_as_it_was_said():
    (mention,) = drift(reference(recorded='"alice okafor\'s COUSIN."', own="ben  achterberg")).mentions
    assert (mention.gold.antecedent, mention.gold.source) == ("Alice Okafor’s cousin", "answer")
    assert (mention.predicted.antecedent, mention.predicted.source) == ("Ben Achterberg", "answer")


@pytest.mark.parametrize(
    ("quote", "source"), [("Stone Garden", "title"), ("Port Ellis", "answer"), ("Who sang it", "question")]
)
def test_where_a_quote_stands_is_its_source(quote, source):
    (reading,) = readings(GOLD, {"text": "she", "recorded": quote})
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


@from_table
def test_the_kind_of_a_mention_is_told_by_its_words(question, text, kind):
    (reading,) = readings(replace(GOLD, question=question), {"text": text, "recorded": None})
    assert (reading.mention.kind, reading.antecedent) == (kind, None)
    assert reading.mention.possessive == (text == "her")


@pytest.mark.parametrize(
    ("said", "meaning", "state", "probability"),
    [
        (reference(own="Ben Achterberg", same=False), "other", "drifted", 1.0),
        (reference(own="Stone Garden", same=True), "same", "same", 0.0),
        (reference(recorded="Stone Garden", own="Garden", same=False), "other", "drifted", 1.0),
        (reference(own=None), "nothing", "lost", 1.0),
        (reference(own=None), "other", "lost", 1.0),
        (reference(recorded=None), "other", "open", 1.0),
    ],
)
def test_the_model_says_what_is_the_same(said, meaning, state, probability):
    """Two names of one thing may share no word, and two things may share one."""
    found = drift(said, meaning=meaning)
    assert (found.mentions[0].state, found.mentions[0].probability) == (state, probability)
    assert (found.valid, found.probability, found.mode) == (said["same"], probability, "llm")


@pytest.mark.parametrize(("same", "meaning"), [(True, "same"), (False, "nothing"), (False, "other")])
def test_what_neither_history_says_can_be_judged_by_nobody(same, meaning):
    unknown = reference(recorded=None, own=" ", same=same)
    found = drift(unknown, meaning=meaning)
    assert (found.valid, found.probability, found.mentions[0].state) == (None, 0.0, "open")
    assert found.not_judged == "neither history says what the question leans on: “she”"
    left_out = drift({**unknown, "text": ""}, meaning=meaning)
    assert left_out.not_judged.endswith(": what it leaves out")


def test_what_certainly_means_something_else_is_invalid_whatever_else_is_unknown():
    assert drift(reference(), reference(recorded=None, own=None)).invalid


def test_a_question_that_leans_on_nothing_means_the_same():
    assert drift(meaning="same").valid
    assert drift(meaning="same").mentions == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("She is Alice.", "holds no JSON object"),
        ('{"references": [}', "at character"),
        ('{"mentions": []}', "missing required field `references`"),
        ('{"references": []}', "missing required field `meaning`"),
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
        (reply(reference(same=True)), '"meaning" is "other", but "same" is true for every reference'),
        (reply(reference(), meaning="same"), '"meaning" is "same", but "same" is false'),
        (reply(reference(), meaning="nothing"), '"meaning" is "nothing", but "own" says something'),
        (reply(reference(own=None, same=True), meaning="same"), '"same" is true for "she", but "own" is'),
        (reply(reference(recorded=None, same=True), meaning="same"), 'but "recorded" is null'),
        (reply(), '"meaning" is "other", but'),
        (reply(meaning="unclear"), "unclear"),
    ],
)
def test_what_cant_be_used_is_sent_back_with_the_reason(text, why):
    with pytest.raises(UnusableReplyError) as caught:
        drift_in(text, GOLD, OWN)
    assert why in str(caught.value)


def test_a_title_may_be_a_pronoun():
    film = replace(GOLD, title="It", turns=())
    assert readings(film, {"text": "she", "recorded": "it"})[0].antecedent == "It"


def test_scripts_without_spaces_can_be_quoted():
    document = replace(GOLD, turns=(Exchange(question="誰?", answer="村上春樹が書いた。"),))
    assert readings(document, {"text": "she", "recorded": "村上春樹"})[0].antecedent == "村上春樹"


QUOTED = "Alice Okafor's cousin"
WORDED = "Did Alice Okafor's cousin say where she was born, and what else?"


def test_the_first_reading_words_the_whole_question():
    found = drift(reference("where", own="Ben"), reference(), standalone=f" {WORDED} ")
    gold = [one.gold for one in found.mentions]
    assert [(one.put, one.put_at) for one in gold] == [(WORDED, (0, len(GOLD.question))), (None, None)]
    assert all(one.predicted.put is None for one in found.mentions)
    assert rewrite(GOLD.question, gold) == WORDED


def test_a_wording_is_asked_however_much_it_quotes():
    """What a rewriter puts in by itself has 15 words at most."""
    long = " ".join(f"word{n}" for n in range(20))
    document = replace(GOLD, question="Why?", turns=(Exchange(question="", answer=f"{long}."),))
    found = readings(document, {"text": "", "recorded": long}, standalone=f"Why {long}?")
    assert rewrite("Why?", found) == f"Why {long}?"


@pytest.mark.parametrize(
    ("standalone", "why"),
    [
        (None, "is empty"),
        (" ?", "is empty"),
        ("Did she say where she was born, and what else?", f'doesn\'t name "{QUOTED.replace(chr(39), "’")}"'),
        (WORDED.replace(" and", "\nand"), "has several lines"),
        (f"{WORDED} {'Tell me all. ' * 20}", "is too long"),
        (f"User: {WORDED}", 'holds "User:"'),
        (f"<question>{WORDED}</question>", 'holds "<question>"'),
        (WORDED.replace("Alice", "**Alice**"), 'holds "**"'),
    ],
)
def test_a_wording_that_cant_be_asked_is_sent_back_or_left_out(standalone, why):
    said = json.dumps({"references": [{"text": "she", "recorded": QUOTED}], "standalone": standalone})
    with pytest.raises(UnusableReplyError) as caught:
        readings_in(said, GOLD)
    assert why in str(caught.value)
    (reading,) = readings_in(said, GOLD, needs_wording=False)
    assert (reading.antecedent, reading.put) == (QUOTED.replace("'", "’"), None)


@from_table
def test_what_is_quoted_may_be_said_in_another_form(recorded, standalone):
    assert wording_fault(standalone, "Why?", [recorded]) is None


TEXTS = st.sampled_from(["", "she", "what", "He", "Port Ellis", "it", "Stone Garden", "\ud83d", ".", "("])
REFERENCES = st.fixed_dictionaries(
    {"text": TEXTS, "recorded": TEXTS | st.none(), "own": TEXTS | st.none(), "same": st.booleans()}
)


@given(st.lists(REFERENCES, max_size=4), st.sampled_from(["same", "other", "nothing"]), TEXTS)
def test_whatever_is_used_stands_where_it_is_said_to(references, meaning, standalone):
    try:
        found = drift(*references, meaning=meaning, standalone=standalone)
    except UnusableReplyError:
        return
    assert found.invalid == (found.probability == 1)
    assert found.valid is None or found.valid == (meaning == "same")
    for one in found.mentions:
        mention = one.gold.mention
        assert GOLD.question[mention.start : mention.end] == mention.text
        for reading, document in ((one.gold, GOLD), (one.predicted, OWN)):
            assert reading.antecedent is None or reading.antecedent in document.text()
