"""``geval``: the contract, its three modes, criteria and steps (checklist D)."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import msgspec
import pytest

from replay.core.adapter import ChatReply, TokenLogprobs
from replay.core.errors import AdapterTimeoutError
from replay.scorers.judges.geval import FAILED_SAMPLE, NO_FACT, UNREADABLE_SAMPLE, GEvalJudge, select_criteria
from replay.scorers.judges.judge import UnfitVoterError
from replay.scorers.scorer import Unscored
from replay.testing import RecordingAsk, always
from tests.data_tables import from_table
from tests.scorers.judges.samples import case


def test_a_dialogue_is_judged_if_one_of_its_turns_was_answered():
    judge = GEvalJudge(mode="samples", samples=3, level="dialogue", criteria=("coherence",))

    nothing = Unscored(reason="no turn of the conversation was answered")
    assert judge.why_not(case(2, None, None)) == nothing
    assert judge.why_not(case(2, "Yes.", None)) is None


def test_the_modes_parameters_are_those_of_the_paper():
    """G-Eval samples with n = 20, temperature 2, top_p 1 and at most 5 tokens."""
    planned = GEvalJudge(mode="samples", criteria=("coherence",)).plan(case(2))

    assert len(planned) == 20
    assert [p.sample for p in planned] == list(range(20))
    assert dict(planned[0].parameters) == {"temperature": 2, "top_p": 1, "max_tokens": 5}
    single = GEvalJudge(mode="single", criteria=("coherence",)).plan(case(2))
    assert [p.parameters["temperature"] for p in single] == [0]


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"mode": "single"}, ()),
        ({"mode": "samples"}, ("temperature",)),
        ({"mode": "samples", "parameters": {"temperature": None, "seed": 1}}, ("seed",)),
        ({"mode": "logprobs"}, ("logprobs", "top_logprobs")),
        ({"mode": "logprobs", "parameters": {"top_logprobs": 5}}, ("logprobs", "top_logprobs")),
    ],
)
def test_a_voter_has_to_pass_on_what_the_mode_lives_by(settings, needed):
    assert GEvalJudge(**settings).needed_parameters == needed


def test_a_mean_is_given_where_there_are_several_criteria():
    alone, both = (
        GEvalJudge(mode="single", criteria=c) for c in (("coherence",), ("coherence", "naturalness"))
    )

    assert [(o.name, o.voting, o.unit) for o in alone.outputs] == [("coherence", "mean", "")]
    assert [o.name for o in both.outputs] == ["coherence", "naturalness", "mean"]


def test_a_rating_needs_no_gold_answer_and_no_samples_are_none():
    silent = msgspec.structs.replace(case(1).record, gold_answers=())

    assert GEvalJudge(mode="single").why_not(replace(case(1), records=(silent,))) is None
    with pytest.raises(ValueError, match="samples 0 is not a positive whole number"):
        GEvalJudge(mode="samples", samples=0)
    assert len(GEvalJudge(mode="samples", samples=1, criteria=("coherence",)).plan(case(2))) == 1


def test_what_has_no_fact_is_neither_planned_nor_asked():
    judge = GEvalJudge(mode="single", criteria=("coherence", "groundedness"))

    assert [len(judge.plan(case(depth))) for depth in (1, 2, 3)] == [2, 2, 1]
    whole = GEvalJudge(mode="single", level="dialogue", criteria=("groundedness",))
    (planned,) = whole.plan(case(3))
    assert "Alice Okafor wrote it in 1987.\n\nOkafor was born in 1950." in planned.prompt


async def test_candidates_are_needed_in_only_one_place_of_a_reply():
    bare = TokenLogprobs(token="- ", logprob=0.0, top=())
    rated = TokenLogprobs(token="4", logprob=0.0, top=(("4", 0.0),))
    judge = GEvalJudge(mode="logprobs", criteria=("coherence",))

    async def opinion(*tokens):
        reply = ChatReply(text="- 4", logprobs=tokens)
        return await judge.opinion(case(2), RecordingAsk(lambda step, prompt: reply))

    found = await opinion(bare, rated)
    assert found.values == {"coherence": 4.0}
    assert (found.evidence["coherence"]["mass"], found.evidence["coherence"]["steps_origin"]) == (
        1.0,
        "given",
    )
    with pytest.raises(UnfitVoterError):
        await opinion(bare, bare)
    unread = await opinion(bare, TokenLogprobs(token="x", logprob=0.0, top=(("x", 0.0),)))
    assert unread.values == {"coherence": Unscored(reason="no rating in the judge's reply")}


async def test_the_mean_is_over_the_criteria_and_zeros_are_counted():
    replies = {"geval.naturalness": iter("30"), "geval.coherence": iter("45")}
    judge = GEvalJudge(mode="samples", samples=2, criteria=("naturalness", "coherence"))
    opinion = await judge.opinion(
        case(2), RecordingAsk(lambda step, prompt: ChatReply(text=next(replies[step])))
    )

    assert opinion.values == {"naturalness": 3.0, "coherence": 4.5, "mean": 3.75}
    assert opinion.evidence["naturalness"]["zeros"] == 1
    assert opinion.evidence["coherence"]["zeros"] == 0


async def test_log_probabilities_weight_the_rating():
    top = (("5", math.log(0.5)), ("4", math.log(0.5)))
    reply = ChatReply(text="5", logprobs=(TokenLogprobs(token="5", logprob=math.log(0.5), top=top),))
    judge = GEvalJudge(mode="logprobs", criteria=("naturalness", "coherence"))
    opinion = await judge.opinion(case(2), RecordingAsk(lambda step, prompt: reply))

    assert opinion.values == pytest.approx({"naturalness": 4.5, "coherence": 4.5, "mean": 4.5})
    assert opinion.evidence["coherence"]["probabilities"] == pytest.approx({"4": 0.5, "5": 0.5})


async def test_a_reply_without_log_probabilities_names_the_other_modes():
    judge = GEvalJudge(mode="logprobs")
    with pytest.raises(UnfitVoterError, match='use mode "samples" or "single"'):
        await judge.opinion(case(2), RecordingAsk(always("5")))


def failing(*replies: str | None):
    """A reply to each ask in turn; None for one that times out."""
    left = iter(replies)

    def reply(step, prompt):
        if (text := next(left)) is None:
            raise AdapterTimeoutError("slow")
        return ChatReply(text=text)

    return RecordingAsk(reply)


async def test_a_sample_that_fails_or_cant_be_read_costs_only_itself():
    judge = GEvalJudge(mode="samples", samples=5, criteria=("coherence",))
    opinion = await judge.opinion(case(2), failing("5", None, "", "3", "4"))

    assert opinion.values == {"coherence": 4.0}
    counts = {
        name: opinion.evidence["coherence"][name] for name in ("rated", "failed", "unreadable", "zeros")
    }
    assert counts == {"rated": 3, "failed": 1, "unreadable": 1, "zeros": 0}
    assert opinion.evidence["coherence"]["ratings"] == [5, None, 3, 4]
    assert opinion.flags == (FAILED_SAMPLE, UNREADABLE_SAMPLE)


@pytest.mark.parametrize(
    ("samples", "min_samples", "replies", "value"),
    [
        (4, None, ("5", None, "4", None), 4.5),
        (4, None, ("5", None, "?", "?"), Unscored(reason="too few samples gave a rating")),
        (4, 3, ("5", None, "4", "?"), Unscored(reason="too few samples gave a rating")),
        (4, 1, ("5", None, None, None), 5.0),
        (3, None, ("?", None, "?"), Unscored(reason="judge timed-out")),
        (3, None, ("?", "?", "?"), Unscored(reason="no rating in the judge's reply")),
        (3, None, ("0", "0", "4"), Unscored(reason="the judge can't evaluate it")),
    ],
)
async def test_below_the_minimum_there_is_no_rating(samples, min_samples, replies, value):
    judge = GEvalJudge(mode="samples", samples=samples, min_samples=min_samples, criteria=("coherence",))
    opinion = await judge.opinion(case(2), failing(*replies))

    assert opinion.values == {"coherence": value}
    assert bool(opinion.flags) is isinstance(value, float)  # without a rating there is nothing to doubt


async def test_nothing_more_is_asked_once_the_minimum_cant_be_reached():
    ask = failing("5", *[None] * 20)
    judge = GEvalJudge(mode="samples", samples=20, criteria=("coherence",))
    opinion = await judge.opinion(case(2), ask)

    assert len(ask.asked) == 12  # the one, and eleven failures of twenty
    assert opinion.values == {"coherence": Unscored(reason="too few samples gave a rating")}


def test_a_minimum_is_between_one_and_all_samples_and_moves_the_number():
    with pytest.raises(ValueError, match=r"min_samples 4 is not between 1 and samples \(3\)"):
        GEvalJudge(mode="samples", samples=3, min_samples=4)
    with pytest.raises(ValueError, match="min_samples 0"):
        GEvalJudge(mode="samples", min_samples=0)
    assert "|n=3+min=3|" in GEvalJudge(mode="samples", samples=3, min_samples=3).signature


async def test_groundedness_needs_a_fact():
    judge = GEvalJudge(mode="single", criteria=("coherence", "groundedness"))
    ask = RecordingAsk(always("4"))
    opinion = await judge.opinion(case(3), ask)

    assert opinion.values == {"coherence": 4.0, "groundedness": NO_FACT, "mean": NO_FACT}
    assert len(ask.asked) == 1

    await judge.opinion(case(2), ask)
    assert "Okafor was born in 1950." in ask.asked[-1][0]  # the turn's fact
    await judge.opinion(case(1), ask)
    assert "Alice Okafor wrote it in 1987." in ask.asked[-1][0]  # or else its gold passages


async def test_one_criterion_may_fail_alone():
    def reply(step, prompt):
        return failing(None if step == "geval.coherence" else "4").reply(step, prompt)

    judge = GEvalJudge(mode="single", criteria=("naturalness", "coherence"))
    opinion = await judge.opinion(case(2), RecordingAsk(reply))

    timed_out = Unscored(reason="judge timed-out")
    assert opinion.values == {"naturalness": 4.0, "coherence": timed_out, "mean": timed_out}


OWN = """
- name: brevity
  definition: Does it say no more than was asked for?
  scale: [1, 7]
"""


@pytest.fixture
def own_criteria(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    return path


async def test_steps_are_asked_for_once_and_shown_without_their_marks(own_criteria):
    generated = "1) Read it.\n\n  * Count words.\n12. Three 3. times.\nRate."

    def reply(step, prompt):
        return ChatReply(text=generated if step.endswith(".steps") else "7")

    judge = GEvalJudge(mode="single", criteria_file=own_criteria)
    ask = RecordingAsk(reply)
    opinion = await judge.opinion(case(2), ask)

    assert opinion.values == {"brevity": 7.0}
    assert opinion.evidence["brevity"]["steps"] == ["Read it.", "Count words.", "Three 3. times.", "Rate."]
    assert opinion.evidence["brevity"]["steps_origin"] == "generated"
    assert "2. Count words." in ask.asked[1][0]
    assert re.search(r"\|steps=generated@[0-9a-f]{12}\|max_tokens=10,", judge.signature)
    steps, rating = judge.plan(case(2))
    assert (steps.once, steps.completion_tokens, steps.certain) == (True, 120, True)
    assert (rating.once, rating.completion_tokens, rating.certain) == (False, 3, True)
    assert steps.parameters == {"temperature": 0, "max_tokens": 400}
    parameters = {"max_tokens": None, "temperature": 1}
    own = GEvalJudge(mode="single", criteria_file=own_criteria, parameters=parameters)
    assert own.plan(case(2))[0].parameters == {"temperature": 0}


async def test_a_whole_dialogue_is_shown_with_the_systems_own_answers():
    ask = RecordingAsk(always("4"))
    judge = GEvalJudge(mode="single", level="dialogue", criteria=("coherence",))
    await judge.opinion(case(3, history_shown="gold"), ask)

    assert "System: She was born in 1951.\nUser: Why?\nSystem: I don't know." in ask.asked[0][0]


@from_table
def test_faults_of_a_criteria_file_are_told_with_their_place(tmp_path, text, message):
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        GEvalJudge(mode="single", criteria_file=tmp_path / "own.yaml")


def test_log_probabilities_need_ratings_of_one_digit(tmp_path):
    (tmp_path / "own.yaml").write_text("- {name: a, definition: d, scale: [1, 10]}")
    with pytest.raises(ValueError, match="the scale of a ends at 10; mode logprobs reads single digits"):
        GEvalJudge(mode="logprobs", criteria_file=tmp_path / "own.yaml")
    GEvalJudge(mode="samples", criteria_file=tmp_path / "own.yaml")
    (tmp_path / "own.yaml").write_text("- {name: a, definition: d, scale: [1, 9]}")
    GEvalJudge(mode="logprobs", criteria_file=tmp_path / "own.yaml")


def test_criteria_are_chosen_by_name_from_both_files_or_are_all_of_ones_own(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_bytes(b"\xef\xbb\xbf- {name: b-1, definition: d, scale: [1, 2]}\n- {name: a, definition: d}")

    assert [c.name for c in select_criteria(None, own)] == ["b-1", "a"]
    assert [c.name for c in select_criteria(["coherence", "a"], own)] == ["coherence", "a"]
    built_in = ["naturalness", "coherence", "engagingness", "groundedness"]
    assert [c.name for c in select_criteria(None, None)] == built_in
    assert [c.scale for c in select_criteria(None, own)] == [(1, 2), (1, 5)]


@from_table
def test_a_choice_without_meaning_is_refused(names, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        select_criteria(names, None)


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), (b"\xff", "it is not UTF-8 text")])
def test_a_criteria_file_that_cant_be_read_says_why(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "own.yaml").write_bytes(content)
    with pytest.raises(ValueError, match=rf"own\.yaml\" can't be read: {reason}"):
        select_criteria(None, tmp_path / "own.yaml")
