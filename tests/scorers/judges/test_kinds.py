"""
The judges of yes and no and of claims: the contract, and what each does with a reply.

The judge of two answers: both orders, and what is read out of replies.

The judge of goals: what it asks, and of which conversations.
"""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest

from replay.core.conversation import Passage
from replay.scorers.judges.claims import ClaimsJudge
from replay.scorers.judges.factual import FactualJudge
from replay.scorers.judges.geval import NO_ANSWER, GEvalJudge
from replay.scorers.judges.judge import Case
from replay.scorers.judges.pairwise import (
    CONTRADICTS,
    UNREADABLE as NEITHER_ANSWER,
    WORD_FOR_WORD,
    PairwiseJudge,
    read_choice,
)
from replay.scorers.judges.prompt import VARIABLES, case_variables, dialogue_fact
from replay.scorers.judges.yes_no import NO_GOAL, SAYS_BOTH, UNREADABLE, CorrectnessJudge, GoalReachedJudge
from replay.scorers.scorer import Unscored
from replay.testing import RecordingAsk, always
from tests.data_tables import from_table
from tests.scorers.judges.samples import ANSWERS, TALK, case, records
from tests.scorers.judges.test_contract import GOAL

# correctness ---------------------------------------------------------------------------------------------


async def test_correctness_is_1_for_yes_and_0_for_no():
    for text, value in (("Yes", 1.0), ("No, since ...", 0.0)):
        opinion = await CorrectnessJudge().opinion(case(), RecordingAsk(always(text)))
        assert opinion.values == {"": value}


@pytest.mark.parametrize(
    ("text", "value", "flags"),
    [
        ("There is no doubt: yes", 1.0, (SAYS_BOTH,)),
        ("No. A reader may say yes.", 0.0, (SAYS_BOTH,)),
        ("Yes, yes.", 1.0, ()),
        ("yes or no", Unscored(reason="the judge said neither yes nor no"), (SAYS_BOTH,)),
    ],
)
async def test_a_reply_that_holds_both_words_is_flagged(text, value, flags):
    opinion = await CorrectnessJudge().opinion(case(), RecordingAsk(always(text)))

    assert (opinion.values, opinion.flags) == ({"": value}, flags)


async def test_a_users_prompt_is_in_the_place_of_ours_and_in_the_signature(tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("{{ question }} | {{ gold }} | {{ predicted }} | {{ context }}")
    judge = CorrectnessJudge(prompt=own)
    ask = RecordingAsk(always("Yes"))
    await judge.opinion(case(2), ask)

    assert ask.asked[0][0] == (
        "When was she born? | In 1950. | She was born in 1951. | "
        "User: Who wrote it?\nSystem: It was Alice Okafor.\nUser: When was she born?"
    )
    assert judge.signature != CorrectnessJudge().signature


async def test_the_context_is_what_the_system_was_shown():
    ask = RecordingAsk(always("4"))
    judge = GEvalJudge(mode="single", criteria=("coherence",))
    await judge.opinion(case(2, history_shown="gold"), ask)

    assert "System: Alice Okafor\n" in ask.asked[0][0]
    assert "It was Alice Okafor." not in ask.asked[0][0]


def test_a_prompt_is_checked_before_anything_is_asked(tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("{{ question }} {{ predikted }}")
    with pytest.raises(ValueError, match='no variable "predikted"; did you mean "predicted"'):
        CorrectnessJudge(prompt=own)
    own.write_text("Is {{ gold }} right?")
    with pytest.raises(ValueError, match="uses none of predicted, response"):
        CorrectnessJudge(prompt=own)
    own.write_text("{{ predicted ")
    with pytest.raises(ValueError, match=r"own\.txt"):
        CorrectnessJudge(prompt=own)


def test_a_default_can_be_taken_back():
    judge = CorrectnessJudge(parameters={"max_tokens": None, "max_completion_tokens": 5})

    assert judge.plan(case())[0].parameters == {"temperature": 0, "max_completion_tokens": 5}
    assert judge.needed_parameters == ("max_completion_tokens",)


def test_one_short_reply_is_planned():
    assert [(p.completion_tokens, p.certain, p.once, p.sample) for p in CorrectnessJudge().plan(case())] == [
        (1, True, False, 0)
    ]


# Every kind ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "signature"),
    [
        (CorrectnessJudge(), "correctness:prompt=#|max_tokens=16,temperature=0"),
        (CorrectnessJudge(parameters={"temperature": None}), "correctness:prompt=#|max_tokens=16"),
        (
            CorrectnessJudge(parameters={"temperature": None, "max_tokens": None}),
            "correctness:prompt=#|no-parameters",
        ),
        (
            CorrectnessJudge(parameters={"stop": ["b a"], "max_tokens": 2}),
            'correctness:prompt=#|max_tokens=2,stop=["b_a"],temperature=0',
        ),
        (
            FactualJudge(),
            "factual:fuzzy>=0.8+ends+facts+ask=always|declining:default|prompt=#+#|max_tokens=400,temperature=0",
        ),
        (ClaimsJudge(), "claims:format=none+tries=3|prompt=#+#|temperature=0"),
        (
            ClaimsJudge(response_format="json_object", tries=1),
            "claims:format=json_object+tries=1|prompt=#+#|temperature=0",
        ),
        (
            GEvalJudge(mode="single"),
            "geval:mode=single|level=turn|criteria=naturalness+coherence+engagingness+groundedness@#"
            "|prompt=#|max_tokens=10,temperature=0",
        ),
        (
            GEvalJudge(mode="samples", level="dialogue", criteria=("coherence",), samples=7),
            "geval:mode=samples|level=dialogue|criteria=coherence@#|prompt=#|n=7+min=4"
            "|max_tokens=5,temperature=2,top_p=1",
        ),
        (
            GEvalJudge(mode="logprobs", criteria=("coherence",)),
            "geval:mode=logprobs|level=turn|criteria=coherence@#|prompt=#"
            "|logprobs=true,max_tokens=10,temperature=0,top_logprobs=20",
        ),
    ],
)
def test_the_signature_names_what_moves_the_number(judge, signature):
    assert re.sub(r"(?<=[=@+])[0-9a-f]{12}", "#", judge.signature) == signature


def test_everything_that_is_known_of_a_case_can_stand_in_a_prompt():
    judged = case(2, "It was Alice.", "In 1951.")
    passage = Passage(id="p7", title="Page", text="Text.")
    record = msgspec.structs.replace(judged.record, asked="When was Alice born?", passages=(passage,))
    judged = replace(judged, records=(judged.records[0], record))

    assert case_variables(judged) == {
        "question": "When was she born?",
        "asked": "When was Alice born?",
        "standalone": "When was Alice Okafor born?",
        "gold": "In 1950.",
        "golds": ["In 1950.", "1950"],
        "predicted": "In 1951.",
        "response": "In 1951.",
        "history": [{"question": "Who wrote it?", "answer": "It was Alice."}],
        "context": "User: Who wrote it?\nSystem: It was Alice.\nUser: When was Alice born?",
        "dialogue": (
            "User: Who wrote it?\nSystem: It was Alice.\nUser: When was Alice born?\nSystem: In 1951."
        ),
        "fact": "Okafor was born in 1950.",
        "passages": [{"id": "p7", "title": "Page", "text": "Text."}],
        "conversation": {
            "id": "c1",
            "title": "Stone Garden",
            "section": "",
            "background": "",
            "metadata": {},
        },
        "depth": 2,
    }
    assert tuple(case_variables(judged)) == VARIABLES


def test_what_is_not_known_of_a_case_is_empty():
    nothing = case_variables(Case(conversation=TALK, records=records(None)))

    assert (nothing["predicted"], nothing["standalone"], nothing["passages"]) == ("", "", [])
    assert nothing["fact"] == "Alice Okafor wrote it in 1987."
    bare = Case(conversation=TALK, records=(msgspec.structs.replace(records("x")[0], gold_answers=()),))
    assert (case_variables(bare)["gold"], case_variables(bare)["golds"]) == ("", [])
    assert case_variables(case(3))["fact"] == ""


def test_the_facts_of_a_dialogue_are_told_once_each():
    first, second, third = TALK.turns
    again = msgspec.structs.replace(third, fact=second.fact)
    talk = msgspec.structs.replace(TALK, turns=(first, second, again))

    assert dialogue_fact(Case(conversation=talk, records=records(*ANSWERS))) == (
        "Alice Okafor wrote it in 1987.\n\nOkafor was born in 1950."
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read: No such file"),
        (b"\xff\xfe{{ predicted }}", "can't be read: it is not UTF-8 text"),
        (
            b"{{ nothing_like_it }} {{ predicted }}",
            r'no variable "nothing_like_it" \(known: question, asked,',
        ),
    ],
)
def test_a_prompt_file_that_cant_be_used_says_why(tmp_path, content, message):
    own = tmp_path / "own.txt"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(ValueError, match=rf'the prompt file ".*own\.txt".*{message}'):
        CorrectnessJudge(prompt=own)


async def test_a_prompt_may_begin_with_a_byte_order_mark_and_end_with_blank_lines(tmp_path):
    own = tmp_path / "own.txt"
    own.write_bytes(b"\xef\xbb\xbf\n {{ predicted }}?\n\n")
    ask = RecordingAsk(always("Yes"))
    await CorrectnessJudge(prompt=own).opinion(case(1, "Alice"), ask)

    assert ask.asked[0][0] == "Alice?"


async def test_the_answers_change_places():
    judged = case(2, "A.", "In another year.")
    recorded = judged.record.gold_answers[0]
    ask = RecordingAsk(always("A"))
    opinion = await PairwiseJudge().opinion(judged, ask)
    places = [
        (f"<answer_a>{recorded}</answer_a>" in prompt, "<answer_b>In another year.</answer_b>" in prompt)
        for prompt, *_ in ask.asked
    ]
    assert places == [(True, True), (False, False)]
    assert opinion.values == {"": CONTRADICTS}
    assert opinion.flags == (CONTRADICTS.reason,)


async def test_an_unclear_reply_is_no_verdict():
    opinion = await PairwiseJudge().opinion(
        case(2, "A.", "B."), RecordingAsk(always("A better one is hard."))
    )
    assert opinion.values == {"": NEITHER_ANSWER}


def test_what_has_no_second_answer_or_the_same_one_is_not_asked_about():
    judge = PairwiseJudge()
    recorded = case(2).record.gold_answers[0]
    assert judge.why_not(case(2, "A.", recorded.upper())) == WORD_FOR_WORD
    assert judge.why_not(case(2, "A.", None)) == Unscored(reason="not answered: timed-out")
    assert judge.why_not(case(2, "A.", "Another one.")) is None


@from_table
def test_the_choice_is_the_last_line_or_behind_a_label(reply, choice):
    assert read_choice(reply) == choice


WITH_GOAL = replace(case(3), conversation=msgspec.structs.replace(TALK, goal=GOAL))


def test_only_conversations_with_a_goal_and_an_answer_are_judged():
    judge = GoalReachedJudge()
    assert judge.why_not(case(3)) == NO_GOAL
    assert judge.why_not(WITH_GOAL) is None
    unanswered = replace(case(1, None), conversation=WITH_GOAL.conversation)
    assert judge.why_not(unanswered) == NO_ANSWER


async def test_the_whole_conversation_is_shown_with_the_goal():
    ask = RecordingAsk(always("Yes."))
    opinion = await GoalReachedJudge().opinion(WITH_GOAL, ask)
    ((prompt, _, _),) = ask.asked
    assert opinion.values == {"": 1.0}
    assert "<goal>\nYou want to know when she was born.\n</goal>" in prompt
    assert "<reached>\nA year was named.\n</reached>" in prompt
    assert "System: She was born in 1951." in prompt
    assert "System: I don't know.\n</conversation>" in prompt


@pytest.mark.parametrize(
    ("reply", "value", "flags"),
    [
        ("No: it never named one.", 0.0, ()),
        ("Hm.", UNREADABLE, ()),
        ("yes or no", UNREADABLE, (SAYS_BOTH,)),
    ],
)
async def test_what_is_read_of_a_reply(reply, value, flags):
    opinion = await GoalReachedJudge().opinion(WITH_GOAL, RecordingAsk(always(reply)))
    assert (opinion.values, opinion.flags) == ({"": value}, flags)
