"""Documents and readings as bytes between processes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange
from replay.coreference.reading.resolver import CharSpan, Document
from replay.coreference.service.worker import CLUSTERS, DOCUMENTS, READINGS

TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
DOCUMENT = st.builds(
    Document,
    question=TEXTS,
    turns=st.lists(st.builds(Exchange, question=TEXTS, answer=TEXTS), max_size=3).map(tuple),
    title=TEXTS,
)


@given(DOCUMENT)
def test_a_document_comes_back_as_it_was_half_surrogate_pairs_included(document):
    assert DOCUMENTS.unpack(DOCUMENTS.pack(document)) == document


@pytest.mark.parametrize("said", ["Bob", "half a pair: \ud83d"])
def test_equal_documents_are_equal_bytes(said):
    """They are what results are remembered by."""
    one, other = (
        Document(question=said[:], turns=(Exchange(question="".join(said), answer=said[:2] + said[2:]),))
        for _ in range(2)
    )
    assert DOCUMENTS.pack(one) == DOCUMENTS.pack(other)
    assert DOCUMENTS.pack(one) != DOCUMENTS.pack(Document(question=said))


@pytest.mark.parametrize("antecedent", ["Bob", "\udc00"])
def test_readings_and_clusters_come_back_as_they_were(antecedent):
    mention = Mention(start=4, end=6, text="he", kind="he")
    readings = (Reading(mention=mention, antecedent=antecedent, distribution=((0.1 + 0.2, antecedent),)),)
    clusters = [(CharSpan(start=0, end=3), CharSpan(start=4, end=6))]

    assert READINGS.unpack(READINGS.pack(readings)) == readings
    assert READINGS.unpack(READINGS.pack(())) == ()
    assert CLUSTERS.unpack(CLUSTERS.pack(clusters)) == clusters


def test_a_kind_of_mention_that_there_is_none_of_does_not_come_through():
    mention = Mention(start=4, end=6, text="he", kind="hero")  # type: ignore[arg-type]
    packed = READINGS.pack((Reading(mention=mention, antecedent=None),))

    with pytest.raises(msgspec.ValidationError, match="hero"):
        READINGS.unpack(packed)
