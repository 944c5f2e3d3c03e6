"""Questions made independent of their context: what is read, what is kept, what is written for whom."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.mentions import ellipsis_of, find_mentions
from replay.coreference.standalone import (
    StandaloneQuestion,
    evidence,
    standalone_questions,
    with_standalone,
)
from tests.samples import SINGER, conversation

BARE = msgspec.structs.replace(
    SINGER, turns=tuple(msgspec.structs.replace(turn, standalone=None) for turn in SINGER.turns)
)
REWRITTEN = [
    "Who sang Stone Garden?",
    "Where was Alice Okafor born?",
    "Who taught Alice Okafor?",
    "What did Dilys play?",
]


class Alice:
    """Reads "she" and "her" as Alice Okafor once she was named."""

    signature = "alice"

    def read(self, documents):
        return [
            tuple(
                Reading(mention=mention, antecedent="Alice Okafor")
                for mention in find_mentions(document.question)
                if mention.kind == "she" and "Alice Okafor" in document.context()
            )
            for document in documents
        ]


@dataclass(frozen=True)
class Sure:
    """Reads every question as asking for Ann Lee, with this probability, which is also the edit's worth."""

    probability: float | None
    signature = "sure"

    def read(self, documents):
        distribution = () if self.probability is None else ((self.probability, "Ann Lee"), (0.1, "Bob"))
        return [
            (
                Reading(
                    mention=Mention(start=10, end=13, text=document.question[10:13], kind="she"),
                    antecedent="Ann Lee",
                    source=str(len(document.turns)) + document.title,
                    distribution=distribution,
                    worth=1.0 if self.probability is None else self.probability,
                ),
            )
            for document in documents
        ]


def test_each_question_is_read_after_the_recorded_ones():
    found = standalone_questions(BARE, Alice())
    assert [one.depth for one in found] == [1, 2, 3, 4]
    assert [one.question for one in found] == [turn.question for turn in BARE.turns]
    assert [one.rewritten for one in found] == REWRITTEN
    said = [[r.mention.text for r in one.readings if r.mention.text] for one in found]
    assert said == [[], ["she"], ["her"], []]


def test_the_shipped_reader_says_who_she_is():
    talk = conversation(("Who is that?", "Ann Lee is a singer."), ("Where was she born?", "In Rome."))

    assert standalone_questions(talk, EmbeddedResolver())[1].rewritten == "Where was Ann Lee born?"


def test_so_many_exchanges_and_the_title_are_read():
    def seen(**how):
        return [one.readings[0].source for one in standalone_questions(SINGER, Sure(0.5), **how)]

    title = SINGER.title
    assert seen() == [f"{n}{title}" for n in (0, 1, 2, 3)]
    assert seen(window=1, background=False) == ["0", "1", "1", "1"]


def test_an_edit_less_probable_to_be_good_than_the_least_changes_nothing():
    talk = conversation(("Where was she?", "Here."))
    for probability, least, rewritten in (
        (0.5, 0.5, "Where was Ann Lee?"),
        (0.5, 0.51, "Where was she?"),
        (None, 1, "Where was Ann Lee?"),
    ):
        (one,) = standalone_questions(talk, Sure(probability), min_probability=least)
        assert one.rewritten == rewritten


def test_a_question_stands_alone_if_it_was_mended_or_leans_on_nothing():
    found = standalone_questions(BARE, Alice())
    assert all(one.stands_alone for one in found)
    unmended = replace(found[1], rewritten=found[1].question)
    assert not unmended.stands_alone


def test_what_may_be_left_out_and_most_probably_is_not_makes_no_question_lean():
    question = "Who sang Stone Garden?"
    nothing = Reading(mention=ellipsis_of(question), antecedent=None, distribution=((0.1, "Ann"),))
    alone = StandaloneQuestion(depth=1, question=question, rewritten=question, readings=(nothing,))

    assert alone.stands_alone
    assert not replace(alone, readings=(replace(nothing, antecedent="Ann"),)).stands_alone
    assert not replace(alone, not_judged="the question is not English (German)").stands_alone


def test_only_questions_without_a_standalone_form_get_ours():
    found = standalone_questions(BARE, Alice())
    unmended = (found[0], replace(found[1], rewritten=found[1].question), *found[2:])
    mixed = msgspec.structs.replace(
        BARE,
        turns=(*BARE.turns[:2], msgspec.structs.replace(BARE.turns[2], standalone="Whose?"), BARE.turns[3]),
    )
    kept = with_standalone(mixed, unmended)
    assert [turn.standalone for turn in kept.turns] == [
        REWRITTEN[0],
        None,
        "Whose?",
        REWRITTEN[3],
    ]
    assert msgspec.structs.replace(kept, turns=mixed.turns) == mixed


def test_the_evidence_is_all_that_led_to_the_question():
    _, second, *_ = standalone_questions(SINGER, Sure(0.5), min_probability=0.5)
    assert evidence(SINGER, second) == {
        "conversation": "singer",
        "depth": 2,
        "turn": "singer#2",
        "question": "Where was she born?",
        "rewritten": "Where was Ann Lee born?",
        "standalone": "Where was the singer Alice Okafor born?",
        "not_judged": None,
        "mentions": [
            {
                "start": 10,
                "end": 13,
                "text": "she",
                "kind": "she",
                "antecedent": "Ann Lee",
                "source": f"1{SINGER.title}",
                "probability": 0.5,
                "distribution": [[0.5, "Ann Lee"], [0.1, "Bob"]],
            }
        ],
    }


def test_the_evidence_names_no_probability_where_there_is_none():
    (_, alone, *_) = standalone_questions(SINGER, Sure(None))
    assert evidence(SINGER, alone)["mentions"][0]["probability"] is None
    (reading,) = alone.readings
    long = replace(reading, distribution=tuple((0.1, str(n)) for n in range(9)), antecedent=None)
    (shown,) = evidence(SINGER, replace(alone, readings=(long,)))["mentions"]
    assert shown["probability"] is None
    assert len(shown["distribution"]) == 5


def test_a_question_that_the_resolver_cannot_read_stays_as_it_is():
    mixed = msgspec.structs.replace(
        BARE,
        turns=(
            BARE.turns[0],
            msgspec.structs.replace(BARE.turns[1], question="Wo wurde sie geboren?"),
            BARE.turns[2],
        ),
    )
    first, german, third = found = standalone_questions(mixed, Alice())

    assert (
        german.not_judged == evidence(mixed, german)["not_judged"] == "the question is not English (German)"
    )
    assert (german.rewritten, german.readings, german.stands_alone) == ("Wo wurde sie geboren?", (), False)
    assert with_standalone(mixed, found).turns[1].standalone is None
    assert (first.not_judged, third.rewritten) == (None, "Who taught Alice Okafor?")


def test_a_resolver_of_any_language_reads_them_all():
    german = msgspec.structs.replace(
        BARE,
        turns=tuple(msgspec.structs.replace(turn, question="Wo wurde sie geboren?") for turn in BARE.turns),
    )
    everything = Everything(0.5)

    assert all(one.readings and one.not_judged is None for one in standalone_questions(german, everything))
    assert not any(one.readings for one in standalone_questions(german, Sure(0.5)))


class Everything(Sure):
    languages = None
