"""What must hold of distributions, and of the verdicts that come from them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace

from hypothesis import given, settings, strategies as st

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange, PlayedTurn
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.verdict import compare_hard, compare_strict
from tests.laws.test_drift_laws import CONVERSATIONS
from tests.samples import detector

TEXTS = [
    "Ann Lee came with Bob van der Ray in 1990.",
    'The first album "Blue Moon" of the Beatles and The Who.',
    "There are the Aero, the Vento and the Pico:\n- Aero\n- Vento",
    "In the U.S., Mrs. Lee met J. Ray.",
    "CANNOTANSWER",
    "李安",
    "",
]
QUESTIONS = [
    "Did she like it?",
    "What else?",
    "How much is the second one there?",
    "Was that album good?",
    "Why was that?",
    "When did he join the band?",
    "Who?",
]
said = st.sampled_from(TEXTS) | st.text(max_size=30)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    turns = draw(st.lists(st.tuples(said, said), max_size=3))
    return Document(
        question=draw(st.sampled_from(QUESTIONS) | st.text(max_size=20)),
        turns=tuple(Exchange(question=q, answer=a) for q, a in turns),
        title=draw(st.sampled_from(["", "Ann Lee", "Journey (band)"])),
        background=draw(said),
    )


@given(documents())
def test_a_distribution_is_one(document):
    (readings,) = EmbeddedResolver().read([document])

    for reading in readings:
        probabilities = [probability for probability, _ in reading.distribution]
        assert all(0 < probability <= 1 for probability in probabilities)
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) <= 1 + 1e-9
        if reading.antecedent is not None:
            assert reading.distribution[0][1] == reading.antecedent
            assert any(reading.antecedent in " ".join(piece.split()) for piece in document.pieces()[:-1])
        assert 0 <= reading.worth <= 1


@given(documents(), st.floats(0, 1))
def test_equal_documents_never_differ(document, threshold):
    resolver = EmbeddedResolver()
    gold, predicted = resolver.read([document]), resolver.read([document])
    drift = compare_strict(
        gold[0], predicted[0], gold_document=document, predicted_document=document, threshold=threshold
    )

    assert drift.probability == 0
    assert drift.valid


anything = st.one_of(
    st.none(), st.sampled_from(["Ann Lee", "Bob", "1990", "the album", ""]), st.text(max_size=9)
)


@st.composite
def readings(draw: st.DrawFn) -> list[Reading]:
    """Whatever any resolver may say."""
    found = []
    for start in sorted(draw(st.sets(st.integers(0, 20), max_size=4))):
        mention = Mention(
            start=start, end=start + 1, text="x", kind=draw(st.sampled_from(["she", "ellipsis"]))
        )
        likely = tuple(
            (draw(st.floats(0.01, 0.3)), draw(st.text(max_size=9))) for _ in range(draw(st.integers(0, 3)))
        )
        found.append(Reading(mention=mention, antecedent=draw(anything), distribution=likely))
    return found


@given(documents(), readings(), readings(), st.floats(0, 1))
def test_equal_documents_are_valid_whatever_the_readings_say(document, gold, predicted, threshold):
    """Where none says a distribution, the hard rule's verdict on equal readings is the law."""
    drift = compare_strict(
        gold, predicted, gold_document=document, predicted_document=document, threshold=threshold
    )
    if any(reading.distribution for reading in (*gold, *predicted)):
        assert (drift.probability, drift.valid) == (0, True)
        assert {mention.probability for mention in drift.mentions} <= {0}
    assert compare_strict(
        gold, gold, gold_document=document, predicted_document=document, threshold=threshold
    ).valid


@given(documents(), documents(), readings(), readings())
def test_the_same_readings_get_the_same_verdict_whatever_was_judged_between(one, other, gold, predicted):
    def judged(first, second, before, after):
        return compare_strict(first, second, gold_document=before, predicted_document=after)

    found = judged(gold, predicted, one, other)
    judged(predicted, gold, other, one)
    assert judged(gold, predicted, one, other) == found
    assert 0 <= found.probability <= 1


@given(documents(), documents())
def test_a_probability_is_one_and_the_verdict_follows_from_it(one, other):
    gold, predicted = EmbeddedResolver().read([one, other])
    verdicts = [
        compare_strict(gold, predicted, gold_document=one, predicted_document=other, threshold=threshold)
        for threshold in (0.1, 0.5, 0.9)
    ]

    (probability,) = {drift.probability for drift in verdicts}
    assert 0 <= probability <= 1
    shares = [m.probability for m in verdicts[0].mentions]
    assert max(shares, default=probability) == probability
    assert all(0 <= share <= probability for share in shares)
    assert [drift.valid for drift in verdicts] == sorted(drift.valid for drift in verdicts)


@given(documents(), documents())
def test_without_distributions_strict_is_hard(one, other):
    gold, predicted = (
        [replace(reading, distribution=()) for reading in read]
        for read in EmbeddedResolver().read([one, other])
    )
    drift = compare_strict(gold, predicted, gold_document=one, predicted_document=other)

    assert drift.valid == compare_hard(gold, predicted).valid
    if gold and one != other:
        assert drift.mentions == compare_hard(gold, predicted).mentions


@given(talk=CONVERSATIONS, window=st.integers(0, 4), mode=st.sampled_from(["strict", "hard"]))
@settings(max_examples=30)
def test_identical_histories_have_probability_0(talk, window, mode):
    async def check():
        async with detector(window=window, mode=mode) as drift:
            for depth in range(1, len(talk.turns) + 1):
                played = [
                    PlayedTurn(turn=t, asked=t.question, answer=t.gold_answers[0])
                    for t in talk.turns[: depth - 1]
                ]
                found = (await drift.assess(talk, depth, played)).drift
                assert found.valid or found.not_judged
                assert found.probability == 0

    asyncio.run(check())


_PROGRAM = """
from replay.coreference.reading.verdict import compare_strict
from replay.coreference.reading.embedded import EmbeddedResolver
from tests.laws.test_distribution_laws import QUESTIONS, TEXTS
from replay.coreference.reading.resolver import Document
from replay.core.history import Exchange
resolver = EmbeddedResolver()
documents = [
    Document(question=question, turns=(Exchange(question="Who?", answer=text),))
    for question in QUESTIONS[::3] for text in TEXTS[:4]
]
read = resolver.read(documents)
for one, first in zip(documents, read):
    for other, second in zip(documents, read):
        if one.question == other.question:
            print(compare_strict(first, second, gold_document=one, predicted_document=other))
"""


def test_verdicts_do_not_depend_on_hash_seeds_or_on_the_threads_of_the_arithmetic():
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "OMP_NUM_THREADS": count,
                "OPENBLAS_NUM_THREADS": count,
            },
        ).stdout
        for seed, count in (("1", "1"), ("2", "2"))
    }

    (only,) = printed
    assert len(only.splitlines()) == 3 * 4**2
