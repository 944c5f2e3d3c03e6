"""The judges of yes and no and of claims: the contract, and what each does with a reply."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import msgspec
import pytest

from replay.core.adapter import ChatReply
from replay.core.conversation import Passage
from replay.core.errors import AdapterTimeoutError
from replay.scorers.fuzzy import fuzzy_match
from replay.scorers.judges.claims import IN_NEITHER, NO_CANDIDATE, NUMBERED, SCHEMA, ClaimsJudge
from replay.scorers.judges.correctness import SAYS_BOTH, CorrectnessJudge
from replay.scorers.judges.factual import ALL_MET, ONE_UNMET, FactualJudge
from replay.scorers.judges.geval import GEvalJudge
from replay.scorers.judges.judge import Case
from replay.scorers.judges.variables import VARIABLES, case_variables, dialogue_fact
from replay.scorers.scorer import Unscored
from replay.testing import JudgeContract, RecordingAsk, always
from tests.scorers.judges.samples import ANSWERS, TALK, case, records

CLAIMS = {"golden_claims": ["A", "B"], "candidate_claims": ["A", "C", "D"], "common_claims": ["A"]}


class TestCorrectness(JudgeContract):
    @pytest.fixture
    def judge(self):
        return CorrectnessJudge()

    @pytest.fixture
    def good(self):
        return always("Yes")


class TestFactual(JudgeContract):
    @pytest.fixture
    def judge(self):
        return FactualJudge()

    @pytest.fixture
    def good(self):
        return always('{"criteria": {}, "reason": "r", "verdict": 1}')


class TestClaims(JudgeContract):
    @pytest.fixture
    def judge(self):
        return ClaimsJudge()

    @pytest.fixture
    def good(self):
        return always(json.dumps(CLAIMS))


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


# factual -------------------------------------------------------------------------------------------------


def verdicts(first: str, second: str = ""):
    return lambda step, prompt: ChatReply(text=second if step == "factual.verification" else first)


async def test_a_fuzzy_match_that_the_model_confirms_needs_no_verification():
    opinion = await FactualJudge().opinion(case(1), RecordingAsk(verdicts('{"verdict": 1}')))

    assert opinion.values == {"": 1.0}
    assert opinion.evidence["fuzzy"] == {"ratio": 1.0, "matching": True, "differs": None, "shortened": False}
    assert opinion.evidence["disagreement"] is False
    assert opinion.evidence["verification"] is None


async def test_a_disagreement_is_decided_by_the_verification_and_recorded():
    ask = RecordingAsk(verdicts('{"reason": "The year differs.", "verdict": 0}', '{"verdict": 1}'))
    opinion = await FactualJudge().opinion(case(1), ask)

    assert opinion.values == {"": 1.0}
    assert opinion.evidence["disagreement"] is True
    assert opinion.evidence["first"] == {"matching": False, "reason": "The year differs."}
    assert opinion.evidence["verification"] == {"matching": True}
    second = ask.asked[1][0]
    assert "The year differs." in second  # it sees the model's verdict ...
    assert "1.00 of 1" in second  # ... and that of the fuzzy match


async def test_the_other_disagreement_is_verified_too():
    opinion = await FactualJudge().opinion(case(2), RecordingAsk(verdicts("verdict: 1", "verdict: 0")))

    assert opinion.values == {"": 0.0}
    assert opinion.evidence["fuzzy"]["matching"] is False


async def test_a_fuzzy_match_may_settle_it_alone():
    ask = RecordingAsk(always("verdict: 0"))
    judge = FactualJudge(ask="unmatched")

    assert (await judge.opinion(case(1), ask)).values == {"": 1.0}
    assert ask.asked == []
    assert list(judge.plan(case(1))) == []


async def test_a_verification_that_fails_leaves_no_number():
    def reply(step, prompt):
        if step == "factual":
            return ChatReply(text="verdict: 0")
        raise AdapterTimeoutError("slow")

    opinion = await FactualJudge().opinion(case(1), RecordingAsk(reply))

    assert opinion.values == {"": Unscored(reason="judge timed-out")}
    assert opinion.evidence["disagreement"] is True


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("Hm.", "", "the judge's verdict can't be read"),
        ("verdict: 0", "Hm.", "the judge's verification can't be read"),
    ],
)
async def test_which_of_the_two_replies_cant_be_read_is_told(first, second, reason):
    opinion = await FactualJudge().opinion(case(1), RecordingAsk(verdicts(first, second)))

    assert opinion.values == {"": Unscored(reason=reason)}


def answered(answer: str, *gold_answers: str) -> Case:
    """The first turn of ``TALK`` with other texts."""
    judged = case(1, answer)
    return replace(judged, records=(msgspec.structs.replace(judged.record, gold_answers=gold_answers),))


async def test_the_best_gold_answer_counts_and_reaching_the_threshold_is_enough():
    judged = answered("a garden of stone", "a gardener", "gardens of stones")
    ratios = [fuzzy_match("a garden of stone", gold).ratio for gold in ("a gardener", "gardens of stones")]
    assert min(ratios) < max(ratios) < 1

    for threshold, matching in ((max(ratios), True), (max(ratios) + 1e-9, False)):
        judge = FactualJudge(threshold=threshold)
        opinion = await judge.opinion(judged, RecordingAsk(verdicts("verdict: 1", "verdict: 1")))
        assert opinion.evidence["fuzzy"] == {
            "ratio": max(ratios),
            "matching": matching,
            "differs": None,
            "shortened": False,
        }
        assert opinion.evidence["disagreement"] is not matching
        assert len(FactualJudge(threshold=threshold, ask="unmatched").plan(judged)) == (0 if matching else 2)


@pytest.mark.parametrize(
    ("answer", "gold", "differs"),
    [
        ("She was born in 1951.", "She was born in 1950.", "figures"),
        ("The share rose to 5.2%", "The share fell to 5.2%", "direction"),
        ("The share did not rise in 2021", "The share did rise in 2021", "negation"),
        ("no", "CANNOTANSWER", None),
        ("CANNOTANSWER", "No", None),
    ],
)
async def test_a_match_that_states_something_else_settles_nothing(answer, gold, differs):
    judge, ask = FactualJudge(ask="unmatched"), RecordingAsk(verdicts("verdict: 0"))
    opinion = await judge.opinion(answered(answer, gold), ask)

    assert opinion.values == {"": 0.0}
    assert len(ask.asked) == 1
    assert opinion.evidence["fuzzy"]["differs"] == differs
    assert opinion.evidence["fuzzy"]["matching"] is False


async def test_the_verification_is_told_what_seemed_to_differ():
    ask = RecordingAsk(verdicts("verdict: 1", "verdict: 1"))
    await FactualJudge().opinion(answered("In 1951.", "In 1950."), ask)

    assert "of 1; figures seemed to differ)" in ask.asked[1][0]


async def test_declining_rightly_is_a_match_by_ones_own_patterns_too():
    judged = answered("Keine Ahnung", "CANNOTANSWER")
    ask = RecordingAsk(verdicts("verdict: 0", "verdict: 0"))

    own = FactualJudge(ask="unmatched", declining=("keine ahnung",))
    assert (await own.opinion(judged, ask)).values == {"": 1.0}
    assert ask.asked == []
    assert "|declining:default|" not in own.signature
    assert (await FactualJudge(ask="unmatched").opinion(judged, ask)).values == {"": 0.0}
    with pytest.raises(ValueError, match="declining"):
        FactualJudge(declining=("(",))


def test_the_verification_is_planned_as_what_may_follow_a_disagreement():
    first, second = FactualJudge().plan(case(1))

    assert [(p.certain, p.completion_tokens) for p in (first, second)] == [(True, 120), (False, 120)]
    assert "a reader's verdict: contradicting" in second.prompt  # since the fuzzy match says otherwise
    assert "a reader's verdict: factually matching" in FactualJudge().plan(case(2))[1].prompt


@pytest.mark.parametrize("threshold", [-0.01, 1.01, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold):
    with pytest.raises(ValueError, match=f"threshold: {threshold:g} is not between 0 and 1"):
        FactualJudge(threshold=threshold)
    assert FactualJudge(threshold=0).threshold < FactualJudge(threshold=1).threshold


async def test_criteria_and_reason_are_kept_where_the_judge_gives_them():
    reply = '{"criteria": {"figures": 1}, "reason": "Fine.", "verdict": 1, "other": 2}'
    opinion = await FactualJudge().opinion(case(1), RecordingAsk(verdicts(reply)))

    assert opinion.evidence["first"] == {"matching": True, "criteria": {"figures": 1}, "reason": "Fine."}


@pytest.mark.parametrize(
    ("criteria", "verdict", "flags"),
    [
        ({"topics": True, "figures": False}, 1, (ONE_UNMET,)),
        ({"topics": "true", "figures": 0}, 1, (ONE_UNMET,)),
        ({"topics": True, "figures": True}, 1, ()),
        ({"topics": True, "figures": False}, 0, ()),
        ({"topics": True, "figures": 1}, 0, (ALL_MET,)),
        ({"topics": True, "figures": "unclear"}, 0, ()),
        ({"topics": True, "figures": "unclear"}, 1, ()),
        ({}, 0, ()),
        ("none", 1, ()),
    ],
)
async def test_a_verdict_against_its_own_criteria_is_flagged_and_stands(criteria, verdict, flags):
    reply = json.dumps({"criteria": criteria, "verdict": verdict})
    judged = case(1 if verdict else 2)  # where the fuzzy match says the same, nothing is verified
    opinion = await FactualJudge().opinion(judged, RecordingAsk(verdicts(reply)))

    assert (opinion.values, opinion.flags) == ({"": float(verdict)}, flags)


async def test_the_verification_is_held_against_its_criteria_too():
    both = '{"criteria": {"figures": false}, "verdict": 1}'
    opinion = await FactualJudge().opinion(case(2), RecordingAsk(verdicts(both, both)))

    assert opinion.flags == (ONE_UNMET, ONE_UNMET)


# claims --------------------------------------------------------------------------------------------------


async def test_lists_are_counted_by_us_whatever_the_judge_says():
    lie = {**CLAIMS, "recall": 1.0, "common_claim_count": 9}
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(lie))))

    assert opinion.values == pytest.approx({"recall": 1 / 2, "precision": 1 / 3, "f1": 0.4})
    assert opinion.evidence["counts"] == {"golden": 2, "candidate": 3, "common": 1}
    assert opinion.evidence["reported"] == {"recall": 1.0, "common_claim_count": 9}


async def test_json_is_found_in_prose_and_fences():
    text = f"Let me see {{thinking}}.\n```json\n{json.dumps(CLAIMS, indent=1)}\n```\nHope that helps!"
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(text)))

    assert opinion.values["recall"] == 0.5


async def test_a_broken_reply_is_shown_to_the_judge_with_the_error():
    replies = iter(['{"golden_claims": ["A"', '{"golden_claims": "A"}', json.dumps(CLAIMS)])
    ask = RecordingAsk(lambda step, prompt: ChatReply(text=next(replies)))
    opinion = await ClaimsJudge().opinion(case(2), ask)

    first, second, third = (prompt for prompt, *_ in ask.asked)
    assert first in second
    assert '{"golden_claims": ["A"' in second
    assert "at character" in second
    assert '"golden_claims" is not a list' in third
    assert opinion.values["recall"] == 0.5
    assert len(opinion.evidence["problems"]) == 2
    assert [sample for *_, sample in ask.asked] == [0, 1, 2]


async def test_after_the_last_try_the_turn_is_unscored():
    ask = RecordingAsk(always("no"))
    opinion = await ClaimsJudge(tries=2).opinion(case(2), ask)

    assert len(ask.asked) == 2
    assert set(opinion.values.values()) == {Unscored(reason="the judge's claims can't be read as JSON")}


async def test_without_golden_claims_there_is_no_score():
    empty = {"golden_claims": [], "candidate_claims": ["A"], "common_claims": []}
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(empty))))

    assert set(opinion.values.values()) == {Unscored(reason="no claims in the gold answer")}
    assert ClaimsJudge().why_not(case(3)) == Unscored(reason="no claims in the gold answer")


def test_the_response_format_is_a_parameter_that_is_needed():
    judge = ClaimsJudge(response_format="json_schema")

    sent = judge.plan(case(2))[0].parameters["response_format"]
    assert sent["json_schema"]["schema"]["required"] == [
        "golden_claims",
        "candidate_claims",
        "common_claims",
    ]
    assert judge.needed_parameters == ("response_format",)
    assert "response_format" not in ClaimsJudge().plan(case(2))[0].parameters


def test_a_format_is_sent_as_the_endpoint_wants_it():
    named = {"name": "claims", "strict": True, "schema": SCHEMA}
    formats = {
        "json_object": {"type": "json_object"},
        "json_schema": {"type": "json_schema", "json_schema": named},
    }

    for name, sent in formats.items():
        judge = ClaimsJudge(response_format=name, parameters={"seed": 1, "temperature": None})
        assert judge.plan(case(2))[0].parameters == {"seed": 1, "response_format": sent}
        assert judge.needed_parameters == ("seed", "response_format")
    assert SCHEMA["additionalProperties"] is False


def test_only_the_first_of_several_tries_is_sure():
    planned = ClaimsJudge(tries=2).plan(case(2))

    assert [(p.sample, p.certain, p.completion_tokens) for p in planned] == [(0, True, 200), (1, False, 200)]
    assert len(ClaimsJudge(tries=1).plan(case(2))) == 1
    with pytest.raises(ValueError, match="tries 0 is not a positive whole number"):
        ClaimsJudge(tries=0)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({"golden_claims": []}, '"candidate_claims" is missing'),
        ({**CLAIMS, "common_claims": None}, '"common_claims" is not a list'),
        ({**CLAIMS, "common_claims": ["A", 5]}, '"common_claims" holds something that is not a text: 5'),
        (
            {**CLAIMS, "common_claims": [["x" * 90]]},
            f'"common_claims" holds something that is not a text: [\'{"x" * 58}',
        ),
    ],
)
async def test_a_reply_of_another_shape_is_told_to_the_judge(found, problem):
    steps = []

    def reply(step, prompt):
        steps.append(step)
        return ChatReply(text=json.dumps(found))

    opinion = await ClaimsJudge(tries=2).opinion(case(2), RecordingAsk(reply))

    assert opinion.evidence["problems"] == [problem, problem]
    assert steps == ["claims", "claims.retry"]


@pytest.mark.parametrize(
    ("golden", "candidate", "common", "clamped"),
    [(2, 2, 2, False), (2, 3, 2, False), (2, 1, 2, True), (1, 3, 2, True)],
)
async def test_more_common_claims_than_an_answer_makes_are_kept_as_a_sign(golden, candidate, common, clamped):
    lists = {
        "golden_claims": [f"c{n}" for n in range(golden)],
        "candidate_claims": [f"c{n}" for n in range(candidate)],
        "common_claims": [f"c{n}" for n in range(common)],
    }
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(lists))))

    assert opinion.evidence["clamped"] is clamped


async def test_an_answer_without_claims_scores_0_and_is_flagged():
    silent = {"golden_claims": ["A"], "candidate_claims": [], "common_claims": []}
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(silent))))

    assert opinion.values == {"recall": 0, "precision": 0, "f1": 0}
    assert opinion.flags == (NO_CANDIDATE,)


async def test_what_a_judge_made_of_the_lists_is_flagged_as_often_as_it_did():
    lists = {
        "golden_claims": {"1": "A.", "2": "B"},
        "candidate_claims": ["A", "C"],
        "common_claims": ["a", "X", "Y"],
    }
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(lists))))

    assert opinion.flags == (IN_NEITHER, IN_NEITHER, NUMBERED)
    assert opinion.evidence["in_neither_list"] == ["X", "Y"]
    assert opinion.evidence["golden_claims"] == ["A.", "B"]
    assert (await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(CLAIMS))))).flags == ()
