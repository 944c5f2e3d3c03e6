"""
What every resolver must keep, as tests: subclass, give the fixture ``resolver``, and they run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest

from replay.core.drift_evidence import Reading
from replay.core.history import Exchange
from replay.core.settings.plugins import misfit
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import CharSpan, Cluster, Document, MentionReader, Resolver
from replay.testing.cases import check_signature, copy_in_another_process

ODD = (
    "",
    " \t\n",
    "\x00\x00",
    "\ud800 she",
    "\u202eabc\u202c she",
    "👩‍👩‍👧 it",
    "Ａｎｎ Ｌｅｅ",
    "İstanbul’da",
    "ﷺ",
    '"' * 50,
    "(" * 50,
    "A. " * 50,
)
"""Texts as systems and people send them now and then."""


def document(question: str, *said: str, title: str = "") -> Document:
    """Return a document with *question* after questions and answers in turn."""
    turns = tuple(Exchange(question=q, answer=a) for q, a in zip(said[::2], said[1::2], strict=True))
    return Document(question=question, turns=turns, title=title)


class ResolverContract:
    """Subclasses are called ``Test...``."""

    @pytest.fixture
    def resolver(self) -> Resolver:
        raise NotImplementedError("give a fixture `resolver` that returns the resolver to be tested")

    @pytest.fixture
    def documents(self) -> Sequence[Document]:
        """Return documents of every kind; the resolver finds something in at least one of them."""
        band = "Alice Okafor founded the band Stone Garden in Port Ellis in 1987."
        return [
            document("Where did she found it?", "Who sang?", band, title="Alice Okafor (singer)"),
            document("Was he her brother?", "Who played?", "Bob Stone met Alice Okafor. He liked her voice."),
            document("What did they play?", "Who?", band, "And then?", "They went to Rome with Bob Stone."),
            document("Why was that?", "Was it a success?", "I don't know."),
            document("Who sang Stone Garden?"),
            document(""),
            document("Did she?", "", ""),
            document("Hat sie ☃ Übergrößen getragen?", "Wer?", "李安 und Ünal Öz 👩‍👩‍👧 waren da. She sang."),
            document("So she did? " * 40, "Who was she?", band * 30),
        ]

    def test_it_is_a_resolver(self, resolver: Resolver) -> None:
        assert not (why := misfit(resolver, Resolver)), f"this is no resolver: {why}"

    def test_there_is_one_list_of_clusters_per_document(
        self, resolver: Resolver, documents: Sequence[Document]
    ) -> None:
        found = resolver.resolve(documents)

        assert len(found) == len(documents), (
            f"resolve gave {len(found)} results for {len(documents)} documents: give a list for each, in "
            "their order, and an empty one where nothing is found"
        )
        assert any(found), "nothing is found in any document: give a fixture `documents` where something is"
        assert list(resolver.resolve([])) == [], "resolve of no documents must give no results"

    def test_spans_lie_in_the_text_and_in_order(
        self, resolver: Resolver, documents: Sequence[Document]
    ) -> None:
        for asked, clusters in zip(documents, resolver.resolve(documents), strict=True):
            _check_clusters(asked.text(), clusters)

    def test_a_document_is_resolved_alone_whatever_comes_with_it(
        self, resolver: Resolver, documents: Sequence[Document]
    ) -> None:
        alone = [resolver.resolve([asked])[0] for asked in documents]

        for batch, wanted in (
            (documents, alone),
            (documents[::-1], alone[::-1]),
            ([*documents, *documents], [*alone, *alone]),
        ):
            found = list(resolver.resolve(batch))
            assert found == wanted, (
                f"together the documents give {found}, one by one {wanted}: batch, order and what was "
                "resolved before must change nothing, or a run could not be repeated"
            )

    @pytest.mark.parametrize("text", ODD)
    def test_any_text_is_resolved(self, resolver: Resolver, text: str) -> None:
        asked = Document(
            question=f"Did she {text} that album?",
            turns=(Exchange(question=text, answer=text),) * 2,
            title=text,
            section=text,
            background=text,
        )
        (clusters,) = resolver.resolve([asked])
        _check_clusters(asked.text(), clusters)
        read_all(resolver, [asked])

    def test_readings_are_of_mentions_in_the_question(
        self, resolver: Resolver, documents: Sequence[Document]
    ) -> None:
        """Its own, where it has ``read``; else what its clusters come to."""
        found = read_all(resolver, documents)
        assert len(found) == len(documents), (
            f"read gave {len(found)} results for {len(documents)} documents: give one for each, in their "
            "order"
        )
        for asked, readings in zip(documents, found, strict=True):
            for reading in readings:
                _check_reading(asked.question, reading)
            starts = [reading.mention.start for reading in readings]
            assert starts == sorted(starts), f"readings are of mentions at {starts}: give them in order"
        if isinstance(resolver, MentionReader):
            assert found == [resolver.read([asked])[0] for asked in documents], (
                "together the documents are read otherwise than one by one: read each for itself"
            )

    def test_it_works_after_a_trip_to_another_process(
        self, resolver: Resolver, documents: Sequence[Document]
    ) -> None:
        found = resolver.resolve(documents)
        step = "let it hold its settings, and load its model at the first call of resolve"
        copy = copy_in_another_process(resolver, "resolver", step)
        assert copy.resolve(documents) == found, "the copy in another process resolves otherwise"

    def test_its_languages_are_a_set_of_codes_or_any(self, resolver: Resolver) -> None:
        languages = getattr(resolver, "languages", frozenset({"en"}))
        assert languages is None or (isinstance(languages, frozenset) and languages), (
            f'languages is {languages!r}: give a frozenset of codes, as in frozenset({{"en", "de"}}), or '
            "None for any; without the attribute it is English"
        )

    def test_the_signature_is_one_word_and_stays(
        self, resolver: Resolver, documents: Sequence[Document]
    ) -> None:
        before = resolver.signature
        resolver.resolve(documents)
        check_signature(resolver, before)


def _check_clusters(text: str, clusters: Sequence[Cluster]) -> None:
    for cluster in clusters:
        assert isinstance(cluster, tuple), f"{cluster!r} is no cluster: give tuples of CharSpan"
        assert all(isinstance(span, CharSpan) for span in cluster), (
            f"{cluster!r} is no cluster: give tuples of CharSpan"
        )
        assert len(cluster) > 1, (
            f"the cluster {cluster} has one span: what refers to nothing else is left out"
        )
        for span in cluster:
            assert 0 <= span.start < span.end <= len(text), (
                f"{span} lies outside the text, which has {len(text)} characters: offsets count from 0 in "
                "document.text(), the end is exclusive, and no span is empty"
            )
        assert all(one < other for one, other in pairwise(cluster)), (
            f"the spans of {cluster} are not in document order, or there twice: sort them"
        )
    firsts = [cluster[0] for cluster in clusters]
    assert firsts == sorted(firsts), f"clusters begin at {firsts}: order them by their first span"


def _check_reading(question: str, reading: Reading) -> None:
    mention = reading.mention
    shown = question[mention.start : mention.end]
    assert mention.text == shown, (
        f'the mention "{mention.text}" is said to be at {mention.start} to {mention.end}, where the '
        f'question has "{shown}": offsets are those of the question'
    )
    is_empty = 0 <= mention.start == mention.end <= len(question)
    assert is_empty if mention.kind == "ellipsis" else shown, (
        f'the mention "{mention.text}" at {mention.start} to {mention.end} is of kind {mention.kind}: what '
        "the question leaves out, kind ellipsis, is an empty span where it could be put; no other kind is "
        "empty"
    )
    chances = [chance for chance, _ in reading.distribution]
    assert all(0 <= chance <= 1 for chance in chances), f"no probabilities: {chances}"
    assert sum(chances) < 1 or math.isclose(sum(chances), 1, abs_tol=1e-6), (
        f"probabilities {chances} come to more than 1"
    )
    assert chances == sorted(chances, reverse=True), f"probabilities {chances}: give the most probable first"
