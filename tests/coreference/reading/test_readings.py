"""Readings of any resolver: from clusters, and of one question from plain data."""

from __future__ import annotations

import subprocess
import sys

import pytest

import replay.coreference
from replay.core.errors import PluginNotFoundError, ScenarioError
from replay.core.history import Exchange
from replay.coreference.reading.readings import DocumentBackground, first_naming_span, readings_from_clusters
from replay.coreference.reading.resolver import CharSpan, Document
from tests.data_tables import from_table

DOCUMENT = Document(
    question="Did she like her album?",
    turns=(Exchange(question="Who sang?", answer="Her sister Ann Lee sang Blue."),),
)


def spans(*texts, document=DOCUMENT):
    """Clusters by words; a word before "|" is looked for in the question."""
    found = []
    for text in texts:
        start = len(document.context()) if text.startswith("|") else 0
        at = document.text().index(text.lstrip("|"), start)
        found.append(CharSpan(start=at, end=at + len(text.lstrip("|"))))
    return tuple(found)


def test_reads_the_first_naming_span_before_the_question():
    readings = readings_from_clusters(DOCUMENT, [spans("Her", "Ann Lee", "|she", "|her")])

    assert [(r.mention.text, r.mention.kind, r.antecedent) for r in readings] == [
        ("she", "she", "Ann Lee"),
        ("her", "she", "Ann Lee"),
    ]
    assert [r.mention.possessive for r in readings] == [False, True]
    assert DOCUMENT.question[readings[0].mention.start :].startswith("she")


@from_table
def test_clusters_are_read_where_they_stand_in_the_question(clusters, read):
    readings = readings_from_clusters(DOCUMENT, [spans(*texts) for texts in clusters])

    assert [(r.mention.text, r.antecedent or "") for r in readings] == read


def test_spans_outside_the_text_or_across_its_border_are_left_out():
    start = len(DOCUMENT.context())
    cluster = (
        *spans("Ann Lee"),
        CharSpan(start=start - 3, end=start + 3),
        CharSpan(start=start, end=start),
        CharSpan(start=len(DOCUMENT.text()), end=10_000),
    )

    assert readings_from_clusters(DOCUMENT, [cluster]) == ()


def test_a_name_in_the_question_itself_is_no_antecedent():
    document = Document(question="Ann said she left", turns=DOCUMENT.turns)

    readings = readings_from_clusters(document, [spans("|Ann", "|she", document=document)])
    assert [(r.mention.text, r.antecedent) for r in readings] == [("Ann", None), ("she", None)]


def test_a_mention_may_open_and_close_the_question():
    document = Document(question="she sang Blue", turns=DOCUMENT.turns)
    found = readings_from_clusters(document, [spans("Ann Lee", "|she", "|Blue", document=document)])

    assert [(r.mention.text, r.mention.start, r.mention.end) for r in found] == [
        ("she", 0, 3),
        ("Blue", 9, 13),
    ]


def test_the_first_naming_span_is_by_place_whatever_the_clusters_order():
    her, ann, blue = spans("Her", "Ann Lee", "Blue")

    assert first_naming_span(DOCUMENT.text(), [blue, ann, her]) == ann
    assert first_naming_span(DOCUMENT.text(), [her]) is None
    assert first_naming_span("Ann left.", [CharSpan(start=0, end=3)]) == CharSpan(start=0, end=3)
    assert first_naming_span("her band, she", [CharSpan(start=0, end=8)]) == CharSpan(start=0, end=8)
    assert first_naming_span("?", [CharSpan(start=0, end=1)]) is None


TURNS = [("Who is that?", "Ann Lee is a singer.")]


def of_she(read):
    """What "she" means, which whatever else is read may stand beside."""
    (reading,) = [reading for reading in read if reading.mention.text == "she"]
    return reading


def test_a_question_is_read_from_plain_data():
    resolver = replay.coreference.load("embedded")
    she = of_she(resolver.resolve_question({}, TURNS, "Where was she born?"))

    assert (she.mention.start, she.mention.end, she.mention.kind) == (10, 13, "she")
    assert she.antecedent == she.distribution[0][1] == "Ann Lee"
    assert resolver.signature.startswith("embedded-")


@pytest.mark.parametrize(
    "background", [DocumentBackground(title="Ann Lee"), {"title": "Ann Lee", "section": "", "text": ""}]
)
def test_the_background_is_an_object_or_a_mapping(background):
    read = replay.coreference.load().resolve_question(background, (), "Where was she born?")

    assert of_she(read).antecedent == "Ann Lee"


def test_the_background_may_be_missing():
    assert replay.coreference.load().resolve_question(None, [], "Did she sing?") == ()


def test_an_unknown_part_of_the_background_is_named():
    with pytest.raises(ValueError, match='no "titel"'):
        replay.coreference.load().resolve_question({"titel": "Ann Lee"}, [], "Did she sing?")


class OneCluster:
    """A resolver that knows clusters alone."""

    signature = "one-cluster"

    def resolve(self, documents):
        from replay.coreference.reading.resolver import CharSpan

        return [
            [(CharSpan(start=0, end=7), CharSpan(start=len(d.context()) + 4, end=len(d.context()) + 7))]
            for d in documents
        ]


def test_any_resolver_can_be_asked():
    reader = replay.coreference.load(f"{__name__}:OneCluster")
    (reading,) = reader.resolve_question({"title": "Ann Lee"}, [], "Did she sing?")

    assert (reader.signature, reading.antecedent, reading.distribution) == ("one-cluster", "Ann Lee", ())


def test_a_wrong_name_or_setting_is_said():
    with pytest.raises(PluginNotFoundError):
        replay.coreference.load("embeded")
    with pytest.raises(ScenarioError):
        replay.coreference.load("embedded", {"size": 3})


def test_importing_the_package_imports_nothing_else():
    code = (
        "import sys, replay.coreference;"
        "print([m for m in ('numpy', 'asyncio', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
