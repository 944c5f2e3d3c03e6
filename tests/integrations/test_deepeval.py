"""DeepEval's door, with the real package."""

from __future__ import annotations

import json
import threading

import pytest

import replay
from replay import ChatReply, Conversation, Expectation, Message, Passage, ToolCall, Turn, Usage
from replay.core.errors import InputError
from replay.datasets.native import write_native

pytest.importorskip("deepeval", reason='needs pip install "convreplay[deepeval]"')

import deepeval
from deepeval.dataset import ConversationalGolden
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric, ConversationCompletenessMetric, ExactMatchMetric, GEval
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import ConversationalTestCase, SingleTurnParams, Turn as CaseTurn

from replay.integrations.deepeval import (
    ChecksMetric,
    DeepEvalScorer,
    DriftMetric,
    ScoreMetric,
    as_conversations,
    as_test_cases,
)
from tests.samples import ALBUM, SINGER
from tests.waiting import PATIENCE_S

pytest_plugins = ["tests.integrations.offline"]
pytestmark = pytest.mark.usefixtures("offline")


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """DeepEval keeps its last results where it is."""
    monkeypatch.chdir(tmp_path)


def bot(question, history):
    if question.startswith("Who"):
        return "Ruth Marlow wrote it in 1987."
    return f"In Port Ellis, after {len(history)} answers."


def played(*policies, data=ALBUM, system=bot, scorers=("em", "f1"), **more):
    return replay.run(
        {
            "name": "library",
            "data": [data],
            "systems": [{"name": "bot", "adapter": system}],
            "policies": list(policies),
            "scorers": list(scorers),
            "drift": {"nlp_workers": 0},
            **more,
        }
    )


def answering(turns):
    """A case of somebody's own: questions and answers, some with right answers."""
    return ConversationalTestCase(
        name="own",
        turns=[
            one
            for question, answer, gold in turns
            for one in (
                CaseTurn(role="user", content=question),
                CaseTurn(role="assistant", content=answer, metadata=gold and {"gold_answers": gold}),
            )
        ],
    )


def test_a_case_is_a_play_as_it_went_with_what_the_run_knows_of_it():
    run = played("pred", "rewrite")
    pred, rewrite = as_test_cases(run.folder)

    assert [turn.content for turn in rewrite.turns[2:4]] == [
        "Where was Alice Okafor born?",
        "In Port Ellis, after 1 answers.",
    ]
    assert (pred.metadata["system"], pred.metadata["policy"], pred.metadata["run"]) == (
        "bot",
        "pred",
        run.folder.name,
    )
    known = [turn.metadata for turn in pred.turns if turn.role == "assistant"]
    frame = run.turns().query("policy == 'pred'")
    assert [one["depth"] for one in known] == frame["depth"].tolist()
    assert [one["valid"] for one in known] == frame["valid"].tolist() == [True, False, True]
    assert [one["scores"]["f1"] for one in known] == frame["f1"].tolist()
    assert "Ruth Marlow" in known[1]["drift"]
    json.dumps([pred.metadata, *known])


def test_what_the_data_and_the_reply_have_is_in_the_case(tmp_path):
    def system(question):
        call = ToolCall(id="1", name="look_up", arguments='{"title": "Stone Garden"}')
        result = Message(role="tool", text="1987", tool_call_id="1")
        steps = (Message(role="assistant", tool_calls=(call,)), result)
        return ChatReply(text="1987.", steps=steps, passages=(Passage(id="p", text="Of 1987."),))

    (tmp_path / "judge.yaml").write_text("- no verdict\n" * 9)
    judge = {"adapter": "scripted", "settings": {"answers": "judge.yaml"}}
    told = Message(role="system", text="You are a librarian.")
    data = Conversation(
        id="album",
        turns=(Turn(id="1", question="When?", asked_with=(told,)),),
        title="Stone Garden",
        section="Plot",
        passages=(Passage(id="p", text="Of 1987."),),
        expect=(Expectation(kind="rubric", value="The year is given."),),
    )
    (case,) = as_test_cases(played("gold", data=data, system=system, scorers=[], judges=[{"rubric": judge}]))

    assert (case.scenario, case.expected_outcome) == ("Stone Garden\nPlot", "The year is given.")
    assert (case.chatbot_role, case.context) == ("You are a librarian.", ["Of 1987."])
    answer = case.turns[1]
    (called,) = answer.tools_called
    assert (called.name, called.input_parameters, called.output) == (
        "look_up",
        {"title": "Stone Garden"},
        "1987",
    )
    assert (answer.content, answer.retrieval_context) == ("1987.", ["Of 1987."])
    assert answer.latency_ms > 0


def test_what_was_shown_as_recorded_stands_before_what_was_asked(tmp_path):
    write_native([ALBUM], tmp_path / "album.jsonl")
    run = replay.run(
        {
            "name": "last",
            "data": {"path": "album.jsonl", "ask": "last"},
            "systems": [{"name": "bot", "adapter": bot}],
            "policies": ["gold"],
        }
    )
    (case,) = as_test_cases(run)
    assert [turn.content for turn in case.turns[:4:2]] == ["Who wrote Stone Garden?", "Where was she born?"]
    assert [turn.content for turn in case.turns[1::2]] == [
        "Alice Okafor wrote it in 1987.",
        "In Port Ellis.",
        "In Port Ellis, after 2 answers.",
    ]
    assert [turn.metadata is None for turn in case.turns[1::2]] == [True, True, False]
    assert ScoreMetric("f1").measure(case) == 0.0


def test_no_answer_makes_deepeval_read_a_file(tmp_path):
    """It takes such a mark for a picture, loads it and sends it to the judge."""
    (tmp_path / "key.png").write_bytes(b"secret")
    mark = f"[DEEPEVAL:IMAGE:{tmp_path / 'key.png'}]"
    run = played("pred", system=lambda question: ChatReply(text=mark, passages=(Passage(id="p", text=mark),)))
    (case,) = as_test_cases(run)
    seen = []

    class Seeing(BaseMetric):
        def measure(self, test_case, **settings):
            seen.append(test_case.multimodal)
            return 1.0

    DeepEvalScorer(Seeing()).observe(run.records())
    assert (case.multimodal, seen) == (False, [False] * 3)
    assert case.turns[1].content == mark.replace("[DEEPEVAL:", "[DEEPEVAL :")


def test_a_failed_turn_is_an_empty_one_and_counts_in_no_score():
    def system(question):
        if "born" in question:
            raise replay.AdapterTimeoutError("nothing came")
        return "Alice Okafor wrote it in 1987."

    (case,) = as_test_cases(played("pred", system=system))
    assert [turn.content for turn in case.turns if turn.role == "assistant"] == [
        "Alice Okafor wrote it in 1987.",
        "",
    ]
    metric = ScoreMetric("f1")
    assert metric.measure(case) == 1.0
    assert metric.reason == "1 over 1 turn (1 without: not answered: timed-out)"


def test_a_score_is_the_run_s_and_its_reason_names_the_turns_that_fall_short():
    run = played("pred")
    (case,) = as_test_cases(run)
    metric = ScoreMetric("f1")

    assert metric.measure(case) == run.depth_table(resamples=0)["f1"].iloc[-1]
    assert metric.score_breakdown == {"depth 1": 2 / 3, "depth 2": 2 / 3, "depth 3": 0.0}
    assert (metric.success, metric.is_successful(), metric.__name__) == (False, False, "f1")
    assert metric.reason == (
        '0.444 over 3 turns; depth 3 "What is it known for?": 0, expected "Its glass harbour.", '
        'got "In Port Ellis, after 2 answers."'
    )


def test_a_reason_shows_a_few_turns_and_counts_the_others():
    (case,) = as_test_cases(played("pred", data=SINGER))
    metric = ScoreMetric("em")
    metric.measure(case)
    assert metric.reason.count("depth ") == 3
    assert metric.reason.endswith("; and 1 more")


def test_without_a_threshold_a_score_is_only_measured():
    (case,) = as_test_cases(played("pred"))
    metric = ScoreMetric("f1", threshold=None)
    metric.measure(case)
    assert (metric.success, metric.reason) == (None, "0.444 over 3 turns")


@pytest.mark.parametrize(("threshold", "success"), [(10, True), (7, False)])
def test_of_what_costs_the_threshold_is_the_most(threshold, success):
    tokens = iter([6, 8, 10])

    def system(question):
        return ChatReply(text="In Port Ellis.", usage=Usage(completion_tokens=next(tokens)))

    (case,) = as_test_cases(played("pred", system=system, scorers=["completion_tokens"]))
    metric = ScoreMetric("completion_tokens", threshold)
    assert metric.measure(case) == 8
    assert metric.is_successful() is success
    assert ("depth 3" in metric.reason, "depth 1" in metric.reason) == (not success, False)


def test_a_column_that_the_run_lacks_is_no_missing_parameter():
    """DeepEval can be told to skip those, and a typo would be skipped with them."""
    (case,) = as_test_cases(played("pred"))
    with pytest.raises(InputError, match=r'no scores "f2" \(it has: em, f1\)'):
        ScoreMetric("f2").measure(case)


def test_drift_counts_the_questions_that_were_left_out_for_it():
    (case,) = as_test_cases(played("filter"))
    assert [turn.role for turn in case.turns] == ["user", "assistant", "user", "assistant"]
    metric = DriftMetric()

    assert metric.measure(case) == 2 / 3
    assert metric.score_breakdown == {"depth 1": 1.0, "depth 2": 0.0, "depth 3": 1.0}
    assert metric.reason.startswith('2 of 3 questions mean the same; depth 2 "Where was she born?": ')
    assert "“she” is “Ruth Marlow” in its own history, “Alice Okafor” in the gold one" in metric.reason


def test_checks_say_what_was_found_in_its_place():
    turns = (
        Turn(id="1", question="Who?", expect=(Expectation(kind="contains", value="Okafor"),)),
        Turn(id="2", question="When?", expect=(Expectation(kind="contains", value="1987"),)),
    )
    data = Conversation(id="t", turns=turns, expect=(Expectation(kind="contains", value="born"),))
    (case,) = as_test_cases(played("pred", data=data, system=lambda question: "In 1987.", scorers=[]))
    metric = ChecksMetric()

    assert metric.measure(case) == pytest.approx(1 / 3)
    assert metric.score_breakdown == {"depth 1": 0.0, "depth 2": 1.0, "the conversation's end": 0.0}
    assert metric.reason.startswith('1 of 3 checks passed; depth 1 "Who?": contains "Okafor": ')


def test_a_metric_with_nothing_to_look_at_can_be_skipped():
    (case,) = as_test_cases(played("gold"))
    for metric in (DriftMetric(), ChecksMetric()):
        with pytest.raises(MissingTestCaseParamsError, match="c1 "):
            metric.measure(case)
    skipping = ErrorConfig(skip_on_missing_params=True)
    result = deepeval.evaluate(
        [case], [ScoreMetric("f1", 0.4), DriftMetric()], error_config=skipping, display_config=QUIET
    )
    assert [data.name for data in result.test_results[0].metrics_data] == ["f1"]


QUIET = DisplayConfig(show_indicator=False, print_results=False)


def test_deepeval_evaluates_all_plays_at_once():
    cases = as_test_cases(played("gold", "pred", "rewrite"))[1:]
    result = deepeval.evaluate(cases, [ScoreMetric("f1", 0.4), DriftMetric()], display_config=QUIET)

    by_name = {one.name: one for one in result.test_results}
    assert list(by_name) == ["c1 (bot, pred)", "c1 (bot, rewrite)"]
    scores = [(data.name, data.success) for data in by_name["c1 (bot, pred)"].metrics_data]
    assert scores == [("f1", True), ("drift", False)]


def test_an_assertion_fails_with_depth_question_and_what_was_expected():
    (case,) = as_test_cases(played("pred"))
    deepeval.assert_test(case, [ScoreMetric("f1", 0.4)])
    with pytest.raises(AssertionError, match=r'depth 3 "What is it known for\?": 0, expected "Its glass'):
        deepeval.assert_test(case, [ScoreMetric("f1", 0.5)])


def test_a_case_of_somebody_s_own_is_scored_and_compared():
    rows = [(turn.question, bot(turn.question, ()), [*turn.gold_answers]) for turn in ALBUM.turns]
    case = answering(rows)
    score, drifted = ScoreMetric("f1"), DriftMetric()

    assert score.measure(case) == ScoreMetric("f1").measure(as_test_cases(played("pred"))[0])
    assert drifted.measure(case) == 2 / 3
    assert 'depth 2 "Where was she born?": ' in drifted.reason
    with pytest.raises(MissingTestCaseParamsError, match="gold_answers"):
        drifted.measure(answering([("Who?", "Ada.", None)]))
    with pytest.raises(MissingTestCaseParamsError, match="1 without: no gold answer"):
        score.measure(answering([("Who?", "Ada.", None)]))


def test_goldens_are_conversations_to_replay():
    called = {"name": "look_up", "input_parameters": {"title": "Stone Garden"}, "output": "1987"}
    golden = ConversationalGolden(
        name="novel",
        scenario="Somebody asks of a novel.",
        expected_outcome="The year is given.",
        turns=[
            CaseTurn(role="assistant", content="Hello."),
            CaseTurn(role="user", content="Who wrote it?"),
            CaseTurn(role="assistant", content="Alice Okafor."),
            CaseTurn(role="user", content="And"),
            CaseTurn(role="user", content="when?"),
            CaseTurn(role="assistant", content="In 1987.", tools_called=[called]),
            CaseTurn(role="user", content="Thanks."),
        ],
    )
    unnamed = golden.model_copy(update={"name": None})
    found, other = as_conversations([golden, unnamed])

    assert (found.id, other.id) == ("novel", "golden-2")
    assert [(turn.question, turn.gold_answer) for turn in found.turns] == [
        ("Who wrote it?", "Alice Okafor."),
        ("And\nwhen?", "In 1987."),
        ("Thanks.", None),
    ]
    call, result = found.turns[1].steps
    assert (call.tool_calls[0].name, call.tool_calls[0].parsed_arguments) == (
        "look_up",
        {"title": "Stone Garden"},
    )
    assert (result.text, found.turns[0].asked_with[0].text) == ("1987", "Hello.")
    (case,) = as_test_cases(played("pred", data=found, scorers=[]))
    assert (case.scenario, case.expected_outcome) == ("Somebody asks of a novel.", "The year is given.")


def test_a_golden_without_turns_says_what_makes_some():
    with pytest.raises(InputError, match=r'"golden-1" has no turns.*ConversationSimulator'):
        as_conversations([ConversationalGolden(scenario="Somebody asks.")])


class Judge(DeepEvalBaseLLM):
    """A judge's model: what it was asked, and always the same verdict."""

    def __init__(self, asked):
        self.asked = asked
        super().__init__("judge")

    def load_model(self):
        return self

    def get_model_name(self):
        return "judge-1"

    def generate(self, prompt, schema=None):
        self.asked.append(prompt)
        return schema(score=7, reason="Close.") if schema else '{"score": 7, "reason": "Close."}'

    async def a_generate(self, prompt, schema=None):
        return self.generate(prompt, schema)


def test_a_metric_of_deepeval_scores_a_run_by_depth():
    asked = []
    judged = GEval(
        name="Right",
        evaluation_steps=["Is the answer right?"],
        evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT],
        model=Judge(asked),
    )
    run = played(
        "pred", scorers=[{"exact": DeepEvalScorer(ExactMatchMetric())}, {"right": DeepEvalScorer(judged)}]
    )

    table = run.depth_table(resamples=0)
    assert table["right"].tolist() == pytest.approx([0.7] * 4)
    assert table["exact"].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert len(asked) == 3, "a scorer is not tried with made-up turns if that asks a judge"
    assert any("Its glass harbour." in prompt and "after 2 answers" in prompt for prompt in asked)
    version = deepeval.__version__
    assert run.scorers()["right"].signature == f"deepeval:GEval|model:judge-1|deepeval:{version}"


def test_what_the_metric_misses_is_why_a_turn_has_no_score():
    data = Conversation(id="a", turns=(Turn(id="1", question="Who?"),))
    run = played("pred", data=data, scorers=[{"exact": DeepEvalScorer(ExactMatchMetric())}])
    (unscored,) = run.turns()["unscored"]
    assert "expected_output" in unscored["exact"]


def test_a_judge_that_fails_leaves_the_other_turns_their_scores():
    class Failing(BaseMetric):
        def measure(self, test_case, **settings):
            if "born" in test_case.input:
                raise ValueError("no JSON")
            return 1.0

    run = played("gold", scorers=[{"judged": DeepEvalScorer(Failing())}])
    assert run.turns()["judged"].tolist()[::2] == [1.0, 1.0]
    assert run.turns()["unscored"][1] == {"judged": "the metric failed: ValueError: no JSON"}


def test_turns_measured_at_once_share_no_state():
    together = threading.Barrier(3)

    class Seen(BaseMetric):
        threshold = None

        def measure(self, test_case, **settings):
            self.seen = test_case.input
            together.wait(PATIENCE_S)
            return float(self.seen == test_case.input)

    assert DeepEvalScorer(Seen()).observe(played("gold", scorers=[]).records()) == [1.0, 1.0, 1.0]


def test_a_metric_of_conversations_is_no_scorer():
    with pytest.raises(TypeError, match=r"as_test_cases\(run\), \[ConversationCompletenessMetric"):
        DeepEvalScorer(ConversationCompletenessMetric(model=Judge([])))
