"""Judges by name: what they ask, what they count, and what becomes of replies that can't be used."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import msgspec
import pytest

from replay.core.adapter import ChatReply
from replay.core.conversation import Passage
from replay.core.errors import AdapterTimeoutError
from replay.core.message import Message
from replay.scorers.judges.geval import NO_ANSWER
from replay.scorers.judges.itemized import LEFT_OUT, NO_VERDICT, UNREADABLE, UNSOUND, occurs
from replay.scorers.judges.items import (
    NO_CONTEXT,
    NO_DATA_CONTEXT,
    NO_PASSAGES,
    NO_ROLE,
    NO_STATEMENTS,
    NOTHING_TOLD,
    ONE_MESSAGE,
    RECORDED_USER,
    UNANSWERABLE,
    AnswerRelevancyJudge,
    ContextPrecisionJudge,
    ContextRecallJudge,
    FaithfulnessJudge,
    KnowledgeRetentionJudge,
    RoleAdherenceJudge,
    UserFrustrationJudge,
    average_precision,
)
from replay.scorers.judges.judge import RECORDED
from replay.scorers.scorer import Unscored
from replay.testing import RecordingAsk, always
from tests.data_tables import from_table
from tests.scorers.judges.named import NAMED, PARCEL, turn_case, whole_case
from tests.scorers.judges.samples import judge as judge_panel, panel
from tests.scorers.judges.servers import judge_server

every_judge = pytest.mark.parametrize("named", NAMED, ids=lambda named: named.judge.kind)


async def ask_over_http(named, replies, **settings):
    """The verdict of one case, what was asked for it, and the tally; the last reply is given for good."""
    texts = list(replies)
    async with judge_server(lambda prompt, number: texts[min(number, len(texts)) - 1]) as server:
        built = panel(named.judge.kind, **server.settings(), **settings)
        (verdict,), tally = await judge_panel(built, [named.case])
    return verdict, server, tally


@every_judge
async def test_verdicts_over_http_are_counted_by_us_and_kept_with_their_evidence(named):
    verdict, server, tally = await ask_over_http(named, [f"Here you are:\n```json\n{named.reply()}\n```"])

    assert verdict.values == pytest.approx({"": named.value})
    assert len(server.bodies) == 1
    evidence = verdict.repeats[0].votes[0].evidence
    assert evidence["problems"] == []
    ranks = [{"rank": 2, "id": "b"}, {"rank": 1, "id": "a"}, {"rank": 3, "id": "c"}]
    more = ranks if named.judge is ContextPrecisionJudge else [{}] * len(named.items)
    assert evidence[named.judge.items] == [
        {**one, **item} for one, item in zip(more, named.items, strict=True)
    ]
    assert (tally.asks, tally.prompt_tokens) == (1, 100)


@every_judge
async def test_evidence_that_is_not_there_is_asked_for_again_and_then_left_out(named):
    verdict, server, _ = await ask_over_http(named, [named.unsound_reply, named.reply()])

    assert verdict.values == pytest.approx({"": named.value})
    assert named.complaint in server.prompts[1]
    assert named.unsound_reply in server.prompts[1]
    assert not verdict.flags

    verdict, server, _ = await ask_over_http(named, [named.unsound_reply])
    assert len(server.bodies) == 2
    faults = named.complaint.count(";") + 1
    sound = len(named.items) - 1
    enough = sound >= 2 * faults
    assert verdict.values == (pytest.approx({"": named.without}) if enough else {"": UNSOUND})
    assert verdict.flags == ({LEFT_OUT: faults} if enough else {})


async def test_broken_json_is_mended_by_asking_again_and_what_is_taken_back_is_no_better():
    named = NAMED[0]
    verdict, server, _ = await ask_over_http(named, [named.reply()[:-9], named.reply()])
    assert verdict.values == pytest.approx({"": named.value})
    assert re.search(r"That can't be used: [\w ',:]+ at character \d+ of the object\.", server.prompts[1])

    verdict, *_ = await ask_over_http(named, [named.unsound_reply, named.reply([])])
    assert verdict.values == pytest.approx({"": named.without})


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("I'm sorry, I can't help with that.", "the reply holds no JSON object"),
        ('{"other": []}', '"statements" is missing'),
        ('{"statements": {}}', '"statements" is no list'),
        ('{"statements": [NaN]}', "the object holds NaN, which is no JSON"),
    ],
)
async def test_a_refusal_or_no_list_gives_no_number(reply, complaint):
    ask = RecordingAsk(always(reply))
    opinion = await FaithfulnessJudge().opinion(turn_case(), ask)

    assert f"That can't be used: {complaint}." in ask.asked[1][0]
    assert (opinion.values, len(ask.asked)) == ({"": UNREADABLE}, 2)


@every_judge
async def test_an_empty_list_is_no_score(named):
    verdict, server, _ = await ask_over_http(named, [named.reply([])])

    if named.judge.every:  # each passage or turn should have been judged
        assert verdict.values == {"": UNSOUND}
        assert "1 has no verdict" in server.prompts[1] or "2 has no verdict" in server.prompts[1]
    else:
        assert verdict.values == {"": named.judge.none_found}
        assert len(server.bodies) == 1


@every_judge
async def test_when_asking_again_fails_the_first_reply_counts_as_far_as_it_holds(named):
    def reply(step, prompt):
        if step.endswith(".retry"):
            raise AdapterTimeoutError("slow")
        return ChatReply(text=named.reply([*named.items, "no object"]))

    opinion = await named.judge().opinion(named.case, RecordingAsk(reply))
    assert opinion.values == pytest.approx({"": named.value})
    assert opinion.flags == (LEFT_OUT,)
    assert opinion.evidence["problems"] == [
        f'item {len(named.items) + 1}: is no object with "{named.judge.verdict}"'
    ]


@every_judge
async def test_more_than_a_third_unsound_give_no_number(named):
    ask = RecordingAsk(always(named.reply([named.unsound, *named.items[1:2]])))
    opinion = await named.judge(tries=1).opinion(named.case, ask)

    assert (opinion.values, opinion.flags) == ({"": UNSOUND}, ())
    assert len(ask.asked) == 1


@pytest.mark.parametrize(
    ("named", "item", "fault"),
    [
        (NAMED[2], NAMED[2].items[0], "item 4: passage 1 is there twice"),
        (NAMED[0], {"statement": "a", "supported": "maybe"}, 'item 4: "supported" is neither true nor false'),
        (NAMED[0], {"statement": "a", "supported": ["yes"]}, 'item 4: "supported" is neither true nor false'),
    ],
)
async def test_no_item_counts_twice_and_a_verdict_is_true_or_false(named, item, fault):
    ask = RecordingAsk(always(named.reply([*named.items, item])))
    opinion = await named.judge(tries=1).opinion(named.case, ask)

    assert opinion.values == pytest.approx({"": named.value})
    assert opinion.evidence["problems"] == [fault]


async def test_where_the_judge_gives_no_verdict_at_all_there_is_no_number():
    nothing = json.dumps({"turns": [{"turn": turn, "retained": None} for turn in (1, 2, 3)]})
    opinion = await KnowledgeRetentionJudge().opinion(whole_case(), RecordingAsk(always(nothing)))
    assert opinion.values == {"": NOTHING_TOLD}

    nothing = json.dumps({"turns": [{"turn": turn, "in_role": None} for turn in (1, 2, 3)]})
    opinion = await RoleAdherenceJudge().opinion(whole_case(), RecordingAsk(always(nothing)))
    assert opinion.values == {"": NO_VERDICT}


@from_table
def test_a_quote_occurs_word_by_word(quote, texts, found):
    assert occurs(quote, texts) is found


def test_average_precision_is_that_of_the_ranking():
    assert average_precision([True, False, True]) == pytest.approx(5 / 6)
    assert average_precision([False, True]) == 0.5
    assert average_precision([False, False]) == 0.0


async def test_the_judge_of_precision_does_not_see_the_ranking():
    """It is shown the same, whatever order the passages were retrieved in; the number differs."""
    case = turn_case()
    turned = turn_case(passages=case.record.passages[::-1])
    asks = [RecordingAsk(always(NAMED[2].reply())) for _ in range(2)]
    values = [
        (await ContextPrecisionJudge().opinion(one, ask)).values[""]
        for one, ask in zip((case, turned), asks, strict=True)
    ]

    assert asks[0].asked == asks[1].asked
    assert values == pytest.approx([(1 / 2 + 2 / 3) / 2, 1.0])


def test_what_has_nothing_to_judge_by_is_not_judged():
    bare = turn_case(passages=())
    assert FaithfulnessJudge().why_not(bare) == NO_CONTEXT
    assert FaithfulnessJudge(context="data").why_not(bare) == NO_DATA_CONTEXT
    assert ContextPrecisionJudge().why_not(bare) == NO_PASSAGES
    no_gold = turn_case(gold_answers=())
    for judge in (ContextPrecisionJudge(), ContextRecallJudge()):
        assert judge.why_not(no_gold) == Unscored(reason="no gold answer")
        assert judge.why_not(turn_case(gold_answers=("CANNOTANSWER",))) == UNANSWERABLE
    declined = turn_case(answer="I don't know.")
    for named in NAMED[:4]:
        says_nothing = named.judge in (FaithfulnessJudge, AnswerRelevancyJudge)
        assert named.judge().why_not(declined) == (NO_STATEMENTS if says_nothing else None)
    failed = turn_case(answer=None, outcome="timed-out")
    for named in NAMED[:4]:
        assert named.judge().why_not(failed) == Unscored(reason="not answered: timed-out")


def test_results_of_tools_are_context_too():
    steps = (Message(role="tool", text="Parcel 77: Monday."),)
    judge, case = FaithfulnessJudge(), turn_case(passages=(), steps=steps)
    assert judge.why_not(case) is None
    assert '<passage number="1">Parcel 77: Monday.</passage>' in judge.plan(case)[0].prompt


def test_the_data_can_be_the_context():
    background = msgspec.structs.replace(PARCEL, background="Parcels are slow.")
    held = msgspec.structs.replace(PARCEL, passages=(Passage(id="p", text="A rule."),), background="No.")
    judge = FaithfulnessJudge(context="data")
    for conversation, text in ((background, "Parcels are slow."), (held, "A rule.")):
        case = replace(turn_case(), conversation=conversation)
        prompt = judge.plan(case)[0].prompt
        assert f'<passage number="1">{text}</passage>' in prompt
        assert "Monday.</passage>" not in prompt


def test_frustration_is_judged_where_the_user_can_react():
    judge, case = UserFrustrationJudge(), whole_case()
    recorded = replace(case, conversation=PARCEL)
    assert judge.why_not(case) is None
    assert judge.why_not(recorded) == RECORDED_USER
    of_a_file = tuple(msgspec.structs.replace(one, policy=RECORDED) for one in case.records)
    assert judge.why_not(replace(recorded, records=of_a_file)) is None
    assert judge.why_not(replace(case, records=case.records[:1])) == ONE_MESSAGE
    assert judge.outputs[0].lower_is_better


def test_a_conversation_without_an_answer_is_not_judged():
    silent = tuple(
        msgspec.structs.replace(one, answer=None, outcome="timed-out") for one in whole_case().records
    )
    for named in NAMED[4:]:
        assert named.judge().why_not(replace(whole_case(), records=silent)) == NO_ANSWER


def test_the_role_is_the_settings_or_the_datas():
    case = replace(whole_case(), conversation=msgspec.structs.replace(PARCEL, metadata={}))
    assert RoleAdherenceJudge().why_not(case) == NO_ROLE
    assert "A poet." in RoleAdherenceJudge(role="A poet.").plan(case)[0].prompt
    told = msgspec.structs.replace(
        PARCEL.turns[0], asked_with=(Message(role="system", text="You are a clerk."),)
    )
    instructed = msgspec.structs.replace(PARCEL, metadata={}, turns=(told, *PARCEL.turns[1:]))
    assert "You are a clerk." in RoleAdherenceJudge().plan(replace(case, conversation=instructed))[0].prompt
    assert RoleAdherenceJudge(role="A poet.").signature != RoleAdherenceJudge().signature


def test_a_failed_turn_is_shown_as_such_and_never_as_its_gold_answer():
    case = whole_case(answer=None, outcome="timed-out")
    prompt = RoleAdherenceJudge().plan(case)[0].prompt
    assert '<turn number="2">\nUser: I said it already: 77!\n(The system gave no answer.)\n</turn>' in prompt
    assert "comes on Wednesday" not in prompt
    assert "For each of these turns" in prompt
    assert "1, 3. Whether" in prompt


def test_tries_are_at_least_one():
    with pytest.raises(ValueError, match="tries 0 is not a positive whole number"):
        FaithfulnessJudge(tries=0)
