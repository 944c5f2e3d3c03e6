"""``mahueval`` without pages: who talks about what, with which system, and what two people agree on."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace

import pytest

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.errors import InputError, ScenarioError
from replay.study.preset import Material
from replay.study.presets.mahueval import MaHuEval
from replay.study.tasks import Assignment, Judgement, NewTask, Rater, StudyState, TalkTurn, Task
from tests.study.presets.evaluation import study
from tests.study.presets.people import table_of

ANN, WHEN = ("Who?", "Ann.", "p"), ("When?", "In 1921.", "p")


@pytest.mark.parametrize(
    ("anns", "bens", "shared"),
    [
        ([ANN], [ANN], (1, 1)),
        ([ANN], [("Who?", "Bea.", "p")], (0, 0)),
        ([ANN], [("Why?", "Ann.", "p")], (0, 0)),
        ([ANN], [("Who?", "Ann.", "q")], (1, 0)),
        # The second question is the same, and so is its answer; what was said before is not.
        ([ANN, WHEN], [("Why?", "So.", "p"), WHEN], (0, 0)),
        ([ANN, WHEN], [("Who?", "Bea.", "p"), WHEN], (0, 0)),
    ],
)
def test_what_two_people_agree_on_is_the_same_turn(anns, bens, shared):
    """(turns compared by answer and intent, turns compared by passage)."""
    talks = Talks(MaHuEval(conversations=1), material(topics=1))
    answers = {}
    for rater, turns in ((1, anns), (2, bens)):
        talks.finish(rater)
        id = len(talks.assignments)
        talks.said[id] = [
            TalkTurn(
                assignment=id,
                depth=depth,
                question=question,
                asked_at="",
                outcome="answered",
                answer=answer,
                passages=(Passage(id=passage, text=passage),),
            )
            for depth, (question, answer, passage) in enumerate(turns, start=1)
        ]
        answers[id] = {
            f"turn-{turn.depth}": Judgement(
                assignment=id,
                step=f"turn-{turn.depth}",
                answer={"intent": "extractive", "correct": 1, "rank": 1},
                comment="",
                at="",
                seconds=None,
            )
            for turn in talks.said[id]
        }
    topic = Conversation(id="t0", turns=())
    state = replace(talks.state, answers=answers, conversations={"t0": topic})
    rows = table_of(MaHuEval().results(state), "Agreement on the same turns")

    assert {row["judgement"]: row["turns"] for row in rows} == {
        "answer correct": shared[0],
        "passage right": shared[1],
        "question intent": shared[0],
    }


def material(topics=40, raters=(1, 2), systems=("zebra",), seed=0):
    conversations = [
        Conversation(id=f"t{n}", turns=(Turn(id="q", question=f"What is t{n}?"),)) for n in range(topics)
    ]
    return Material(
        conversations=conversations,
        systems=systems,
        runs={},
        raters=raters,
        rater_names=[str(rater) for rater in raters],
        seed=seed,
    )


class Talks:
    """A study without pages: tasks that were given and ended, by hand."""

    def __init__(self, preset, given=None):
        given = given or material()
        self.preset = preset
        self.raters = {id: Rater(id=id, name=str(id)) for id in given.raters}
        self.tasks = {}
        self.assignments = []
        self.said = {}
        self.add(preset.tasks(given))

    def add(self, tasks):
        for task in tasks:
            id = len(self.tasks) + 1
            self.tasks[id] = Task(id=id, **{one.name: getattr(task, one.name) for one in fields(NewTask)})

    def finish(self, rater, round=1, state="done", most=1000):
        mine = [one for one in self.tasks.values() if one.only == (rater,) and one.round == round]
        for task in mine[:most]:
            id = len(self.assignments) + 1
            self.assignments.append(
                Assignment(id=id, task=task.id, rater=rater, state=state, given_at="", ended_at="")
            )
            question = task.content["opening"] or f"{rater} asks of {task.conversation}"
            self.said[id] = [
                TalkTurn(assignment=id, depth=1, question=question, asked_at="", outcome="answered")
            ]

    @property
    def state(self):
        return StudyState(
            raters=list(self.raters.values()),
            tasks=self.tasks,
            assignments=self.assignments,
            talks=self.said,
        )

    def further(self, rater):
        found = self.preset.further(self.state, rater)
        self.add(found or ())
        return found


def test_the_published_study_has_forty_conversations_of_which_twenty_pairs_begin_alike():
    talks = Talks(MaHuEval())
    talks.finish(1)
    talks.finish(2)
    repeated = [*talks.further(1), *talks.further(2)]
    talks.finish(1, round=2)
    talks.finish(2, round=2)

    assert len(talks.said) == 40
    assert set(Counter(turns[0].question for turns in talks.said.values()).values()) == {2}
    assert all(task.content["fixed"] for task in repeated)
    assert talks.further(1) is None
    assert talks.further(2) is None


def test_nobody_has_a_topic_twice_and_systems_are_balanced():
    systems = ("zebra", "okapi", "heron")
    talks = Talks(MaHuEval(), material(topics=25, raters=(1, 2, 3), systems=systems))

    for rater in (1, 2, 3):
        mine = [one for one in talks.tasks.values() if one.only == (rater,)]
        assert len({one.conversation for one in mine}) == 10
        assert sorted(Counter(one.system for one in mine).values()) == [3, 3, 4]
    assert set(Counter(one.system for one in talks.tasks.values()).values()) == {10}
    # Two people have the same topic only where there are too few: 25 for 30 conversations.
    assert len({one.conversation for one in talks.tasks.values()}) == 25


def test_what_is_dealt_depends_on_the_seed_alone():
    def dealt(seed):
        return [
            (one.conversation, one.system)
            for one in MaHuEval().tasks(material(seed=seed, systems=("zebra", "okapi")))
        ]

    assert dealt(1) == dealt(1)
    assert dealt(1) != dealt(2)


def test_more_than_two_people_repeat_in_a_ring():
    talks = Talks(MaHuEval(conversations=1), material(raters=(1, 2, 3)))
    for rater in (1, 2, 3):
        talks.finish(rater)

    openings = {rater: talks.further(rater)[0].content["opening"].partition(" ")[0] for rater in (1, 2, 3)}
    assert openings == {1: "2", 2: "3", 3: "1"}


@pytest.mark.parametrize(("rounds", "raters"), [(2, (1,)), (1, (1, 2))], ids=["one person", "one round"])
def test_one_person_alone_has_one_round_and_so_has_a_study_that_says_so(rounds, raters):
    talks = Talks(MaHuEval(rounds=rounds), material(raters=raters))
    for rater in raters:
        talks.finish(rater)

    assert talks.further(1) is None


def test_what_was_set_aside_is_not_repeated_nor_waited_for_when_its_person_has_left():
    talks = Talks(MaHuEval(conversations=3))
    talks.finish(1)
    talks.finish(2, most=2)
    assert talks.further(1) == ()

    talks.raters[2] = replace(talks.raters[2], left_at="now")
    assert len(talks.further(1)) == 2


def test_whoever_stays_takes_the_place_of_one_who_has_left():
    talks = Talks(MaHuEval(conversations=1), material(raters=(1, 2, 3)))
    talks.finish(1)
    talks.finish(3)
    talks.raters[2] = replace(talks.raters[2], left_at="now")

    assert [task.content["opening"].partition(" ")[0] for task in talks.further(1)] == ["3"]


def test_who_joins_later_has_both_rounds():
    talks = Talks(MaHuEval(conversations=2), material(raters=(1, 2), systems=("zebra", "okapi")))
    talks.finish(1)
    talks.raters[3] = Rater(id=3, name="late")

    assert [(one.only, one.round) for one in talks.further(3)] == [((3,), 1), ((3,), 1)]
    assert Counter(one.system for one in talks.tasks.values() if one.only == (3,)) == {"zebra": 1, "okapi": 1}
    talks.finish(3)
    assert [one.content["opening"].partition(" ")[0] for one in talks.further(3)] == ["1", "1"]


def test_the_first_question_can_be_offered_or_supplied():
    plans = {}
    for opening in ("own", "offered", "supplied"):
        preset = MaHuEval(opening=opening)
        talks = Talks(preset)
        plan = preset.talk(talks.tasks[1])
        plans[opening] = (plan.opening, plan.opening_fixed)
    question = f"What is {talks.tasks[1].conversation}?"

    assert plans == {"own": (None, False), "offered": (question, False), "supplied": (question, True)}


def test_what_a_study_can_t_be_dealt_of_is_told_with_the_way_out(tmp_path):
    with pytest.raises(InputError, match=r"7 conversations.*set preset\.mahueval\.conversations to 7"):
        MaHuEval().tasks(material(topics=7))
    given = material()
    given = replace(given, conversations=[*given.conversations, Conversation(id="mute", turns=())])
    with pytest.raises(InputError, match='"mute" has no question to open with'):
        MaHuEval(opening="supplied").tasks(given)
    with pytest.raises(ScenarioError, match="fewest_turns 11, most_turns 10"):
        study(tmp_path, fewest_turns=11, most_turns=10)
