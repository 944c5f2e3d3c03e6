from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from pydantic import ValidationError

from replay.core.conversation import Conversation, Turn
from replay.core.drift_evidence import Drift
from replay.core.errors import ReadingError, ScenarioError
from replay.core.history import PlayedTurn
from replay.coreference.drift import DriftDetector
from replay.coreference.reading import evalconvqa
from replay.coreference.reading.resolver import LONGEST_TEXT, recorded_document
from replay.coreference.reading.verdict import HARD_VERSION, STRICT_VERSION
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.coreference.service.worker_pool import WorkerPool
from replay.runs.launch import load_scenario
from replay.scenario.assembly import assemble
from replay.scenario.sections import DriftSection
from tests.data_tables import from_table
from tests.samples import ALICE, SINGER, conversation, detector

pytestmark = pytest.mark.usefixtures("code_runs")

VERSIONS = {"strict": STRICT_VERSION, "hard": HARD_VERSION, "evalconvqa": evalconvqa.VERSION}


def played(*answers):
    return [
        PlayedTurn(turn=t, asked=t.question, answer=a) for t, a in zip(SINGER.turns, answers, strict=False)
    ]


@pytest.mark.parametrize("mode", ["strict", "hard", "evalconvqa"])
async def test_the_mode_is_in_the_verdict_and_in_the_signature(mode):
    async with detector(mode=mode) as drift:
        assessment = await drift.assess(SINGER, 2, played("Nobody knows."))

        assert assessment.drift.mode == mode
        assert f"drift:{mode}-{VERSIONS[mode]}|" in drift.signature


async def test_a_lost_antecedent_is_drift():
    async with detector(resolver=ALICE) as drift:
        lost = (await drift.assess(SINGER, 2, played("Nobody knows."))).drift
        kept = (await drift.assess(SINGER, 2, played("The song is by Alice Okafor."))).drift

    assert lost.probability > kept.probability
    assert not lost.valid
    assert kept.valid


async def test_the_shipped_reader_holds_a_lost_antecedent_for_the_likelier_drift():
    talk = conversation(("Who is that?", "Ann Lee is a singer."), ("Where was she born?", "In Rome."))
    async with detector() as drift:
        lost, kept = [
            (
                await drift.assess(
                    talk, 2, [PlayedTurn(turn=talk.turns[0], asked="Who is that?", answer=answer)]
                )
            ).drift
            for answer in ("I don't know.", "That is Ann Lee, a singer.")
        ]

    assert lost.probability > kept.probability


@pytest.mark.parametrize("mode", ["strict", "hard"])
async def test_a_turn_that_left_no_trace_is_no_identical_answer(mode):
    """The window then reaches further back, to an answer that may happen to be the same."""
    turns = (
        msgspec.structs.replace(SINGER.turns[1], question="Who else?", gold_answers=("Bob Ray.",)),
        SINGER.turns[0],
    )
    talk = msgspec.structs.replace(SINGER, turns=(*turns, msgspec.structs.replace(SINGER.turns[1], id="q3")))
    same = [PlayedTurn(turn=t, asked="Who?", answer=t.gold_answer) for t in turns]
    filtered = [same[0], PlayedTurn(turn=turns[1], asked="Who?", answer=None)]

    async with detector(mode=mode, window=1, resolver=ALICE) as drift:
        assert (await drift.assess(talk, 3, same)).drift.valid
        assert not (await drift.assess(talk, 3, filtered)).drift.valid


async def test_the_threshold_is_kept_and_named():
    async with detector() as drift:
        lenient = replace(drift, threshold=1.0)

        assert lenient.signature == f"{drift.signature}|threshold:1"
        assert (await lenient.assess(SINGER, 2, played("Nobody knows."))).drift.valid


def test_a_scenario_can_ask_for_the_hard_rule_or_another_threshold():
    assert DriftSection(mode="hard").mode == "hard"
    assert DriftSection(threshold=0.5).threshold == 0.5
    assert DriftSection().threshold is None
    with pytest.raises(ValidationError):
        DriftSection(threshold=1.5)


async def test_settings_that_nobody_chose_are_not_in_the_signature():
    async with detector() as drift:
        plain = replace(drift, window=2, background=True, threshold=None, min_similarity=None)

        assert plain.signature == f"coref:{drift.service.signature}|drift:strict-{STRICT_VERSION}|window:2"
        assert replace(plain, background=False).signature == f"{plain.signature}|background:no"
        assert replace(plain, background="alone").signature == f"{plain.signature}|background:alone"
        assert replace(plain, skip_entity=False).signature.endswith(
            f"|drift:strict-{STRICT_VERSION}+keptent|window:2"
        )
        assert replace(plain, min_similarity=0.5).signature == plain.signature  # there is no encoder
        assert replace(plain, match="em").signature.endswith(f"|drift:strict-{STRICT_VERSION}+em|window:2")
        defaults = DriftDetector(service=drift.service)
        assert (defaults.window, defaults.background, defaults.mode, defaults.match) == (
            6,
            True,
            "strict",
            "f1",
        )


async def test_under_the_published_rule_only_what_was_answered_stands_in_both_histories():
    """A turn that failed or was skipped is in neither."""
    async with detector(mode="evalconvqa", resolver=ALICE) as drift:
        failed = [PlayedTurn(turn=SINGER.turns[0], asked="Who sang Stone Garden?", answer=None)]
        alone = await drift.assess(SINGER, 2, failed)
        told = await drift.assess(SINGER, 2, played("Nobody knows."))

    assert (alone.drift.mentions, alone.published) == ((), SINGER.turns[1].question)
    assert told.published == "Where was Alice Okafor born?"


@pytest.mark.parametrize(
    ("background", "text"),
    [
        (True, "Ann Lee. Early life. She sang. <Q> Who?"),
        (False, "<Q> Who?"),
        # As the published program puts it together.
        ("alone", "She sang. <Q> Who?"),
    ],
)
def test_what_is_read_of_a_conversation_can_be_chosen(background, text):
    talk = msgspec.structs.replace(
        conversation(("Who?", "Ann.")), title="Ann Lee", section="Early life", background="She sang."
    )

    assert recorded_document(talk, 1, window=2, background=background).text() == text


async def test_gold_readings_are_of_the_recorded_conversation():
    async with detector(resolver=ALICE) as drift:
        she, *_ = await drift.gold_readings(SINGER, 2)

    assert (she.mention.text, she.antecedent) == ("she", "Alice Okafor")


GERMAN = conversation(
    ("Wer war Clara Schumann?", "Eine Pianistin."), ("Wo lebte sie?", "In Frankfurt."), ("1896?", "Ihr Ende.")
)


@pytest.mark.parametrize("mode", ["strict", "hard", "evalconvqa"])
async def test_a_question_that_the_resolver_cannot_read_is_not_judged(mode):
    """Whatever the histories: even where they are the same, since a share over those alone says nothing."""
    async with detector(mode=mode) as drift:
        for answers in (("Eine Ärztin.", "In Wien."), ("Eine Pianistin.", "In Frankfurt.")):
            for depth in (1, 2, 3):
                own = [
                    PlayedTurn(turn=t, asked=t.question, answer=a)
                    for t, a in zip(GERMAN.turns, answers, strict=False)
                ]
                found = await drift.assess(GERMAN, depth, own[: depth - 1])

                reason = "the question is not English (German)"
                assert found.drift == Drift(valid=None, mentions=(), mode=mode, not_judged=reason)
                assert not found.drift.invalid
                assert found.published is None
        assert drift.service.resolved == 0


class Foreign:
    """A resolver that says nothing of languages."""

    signature = "foreign-1"

    def resolve(self, documents):
        return [[] for _ in documents]


class Polyglot(Foreign):
    languages = None


class GermanOnly(Foreign):
    languages = frozenset({"de"})


@from_table
async def test_a_resolver_may_say_which_languages_it_reads(resolver, mode, refused):
    choice = ResolverChoice(name=f"{__file__}:{resolver}", settings={}, folder=Path())
    async with CoreferenceService(choice, workers=0) as service:
        drift = DriftDetector(service=service, mode=mode)

        assert bool(drift.not_judged(GERMAN, 2)) == (refused == "de")
        assert bool(drift.not_judged(SINGER, 2)) == (refused == "en")


def test_a_verdict_that_was_not_given_is_stored_with_its_reason():
    drift = Drift(valid=None, mentions=(), mode="strict", not_judged="the question is not English (German)")

    assert msgspec.json.decode(msgspec.json.encode(drift), type=Drift) == drift


@pytest.mark.parametrize("mode", ["strict", "hard", "evalconvqa"])
async def test_equal_histories_are_resolved_once(mode):
    async with detector(mode=mode) as drift:
        assert (await drift.assess(SINGER, 1, [])).drift.valid
        assert drift.service.resolved == 1


LONG = "Ann Lee sang it. " * 10_000


def talk(*answers: str, question: str = "When did she leave it?") -> Conversation:
    asked = [*("Who sang it?" for _ in answers), question]
    turns = tuple(
        Turn(id=f"q{n}", question=q, gold_answers=(answer,))
        for n, (q, answer) in enumerate(zip(asked, [*answers, "In 1984."], strict=True))
    )
    return Conversation(id="long", turns=turns)


def test_of_a_text_that_is_too_long_the_beginning_and_the_end_are_read():
    answer = f"{'a' * 30_000}{'b' * 30_000}"
    document = recorded_document(talk(answer, answer[:LONGEST_TEXT]), 3, window=2, background=True)

    first, second = (turn.answer for turn in document.turns)
    assert first == "a" * 10_000 + "\n…\n" + "b" * 10_000
    assert second == answer[:LONGEST_TEXT]
    assert document.shortened == 1


@pytest.mark.parametrize("mode", ["strict", "hard", "evalconvqa"])
async def test_the_evidence_says_how_many_texts_were_read_in_part(mode):
    conversation = talk("Ann Lee.")
    for answer, shortened in [("Bob Ray.", 0), (LONG, 1)]:
        own = [PlayedTurn(turn=conversation.turns[0], asked="Who sang it?", answer=answer)]
        async with detector(mode=mode) as drift:
            assert (await drift.assess(conversation, 2, own)).drift.shortened == shortened


async def test_a_question_that_is_too_long_is_not_judged():
    conversation = talk("Ann Lee.", question="Who " * 5_001)
    own = [PlayedTurn(turn=conversation.turns[0], asked="Who sang it?", answer="Bob.")]
    async with detector() as drift:
        found = (await drift.assess(conversation, 2, own)).drift

    assert (found.valid, found.not_judged) == (None, "the question is longer than 20,000 characters")


@pytest.mark.parametrize("mode", ["strict", "hard", "evalconvqa"])
async def test_a_question_whose_workers_gave_no_answer_is_not_judged(mode, monkeypatch):
    async def lost(self, task, batch):
        raise ReadingError("no coreference worker answered within 1 s, twice: more time")

    monkeypatch.setattr(WorkerPool, "compute", lost)
    async with detector(mode=mode) as drift:
        found = (await drift.assess(SINGER, 2, played("Nobody knows."))).drift

    assert (found.valid, found.mode) == (None, mode)
    assert found.kind_not_judged == "no coreference worker answered within 1 s, twice"


def test_em_belongs_to_the_published_rule(tmp_path):
    (tmp_path / "talk.jsonl").write_text('{"id": "t", "turns": [{"question": "Who?"}]}', "utf-8")
    scenario = {
        "name": "x",
        "data": {"path": str(tmp_path / "talk.jsonl")},
        "systems": [{"name": "s", "adapter": "extractive"}],
        "policies": ["rewrite"],
        "drift": {"match": "em", "mode": "evalconvqa"},
    }
    (signature,) = [p.signature for p in assemble(load_scenario(scenario)).policies.values()]
    assert "drift:evalconvqa-2+em" in signature
    scenario["drift"] = {"match": "em"}
    with pytest.raises(ScenarioError, match="needs mode: evalconvqa"):
        assemble(load_scenario(scenario))
