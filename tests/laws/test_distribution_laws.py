"""What must hold of distributions, and of the verdicts that come from them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from itertools import product

from hypothesis import given, settings, strategies as st

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange
from replay.coreference.reading import evalconvqa
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.verdict import compare_hard, compare_strict
from tests.laws.test_coreference_laws import LISTED, SOME, documents
from tests.laws.test_drift_laws import verdicts


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
    (clusters,) = resolver.resolve([document])
    assert evalconvqa.compare(document, clusters, document, clusters).valid


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


@settings(max_examples=SOME)
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


@settings(max_examples=SOME)
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


def judged() -> str:
    """Verdicts on every pair of some documents, and the records of conversations that were played."""
    resolver, printed = EmbeddedResolver(), [asyncio.run(verdicts(0, together=True)).decode()]
    texts = ("Ann Lee came with Bob van der Ray in 1990.", 'The album "Blue Moon" of The Who.', LISTED, "")
    for question in ("Did she like it?", "Was that album good?", "Which of them?"):
        asked = [
            Document(question=question, turns=(Exchange(question="Who?", answer=text),)) for text in texts
        ]
        read = list(zip(asked, resolver.read(asked), strict=True))
        for (one, first), (other, second) in product(read, read):
            drift = compare_strict(first, second, gold_document=one, predicted_document=other)
            printed.append(repr(drift))
    return "\n".join(printed)


def test_verdicts_do_not_depend_on_hash_seeds_or_on_the_threads_of_the_arithmetic():
    program = "from tests.laws.test_distribution_laws import judged; print(judged())"
    one = {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **one}
    )

    assert done.stdout == f"{judged()}\n"
    assert len(done.stdout.splitlines()) == 1 + 3 * 4**2
