import subprocess
import sys

import pytest

import replay.coreference
from replay.core.errors import PluginNotFoundError, ScenarioError
from replay.coreference.question_reader import Background

TURNS = [("Who taught her?", "The pianist Bob Ray taught her.")]


def test_a_question_is_read_from_plain_data():
    resolver = replay.coreference.load("embedded")
    read = resolver.resolve_question({"title": "Ann Lee"}, TURNS, "When did she meet him?")

    assert [(r.mention.start, r.mention.end, r.mention.kind) for r in read[:2]] == [
        (9, 12, "she"),
        (18, 21, "he"),
    ]
    assert [r.antecedent for r in read[:2]] == ["Ann Lee", "Bob Ray"]
    assert all(r.distribution[0][1] == r.antecedent for r in read[:2])
    assert resolver.signature.startswith("embedded-")


@pytest.mark.parametrize(
    "background", [Background(title="Ann Lee"), {"title": "Ann Lee", "section": "", "text": ""}]
)
def test_the_background_is_an_object_or_a_mapping(background):
    (reading,) = replay.coreference.load().resolve_question(background, (), "Did she sing?")

    assert reading.antecedent == "Ann Lee"


def test_the_background_may_be_missing():
    (reading,) = replay.coreference.load().resolve_question(None, [], "Did she sing?")

    assert reading.antecedent is None


def test_an_unknown_part_of_the_background_is_named():
    with pytest.raises(ValueError, match='no "titel"'):
        replay.coreference.load().resolve_question({"titel": "Ann Lee"}, [], "Did she sing?")


class OneCluster:
    """A resolver that knows clusters alone."""

    signature = "one-cluster"

    def resolve(self, documents):
        from replay.coreference.resolver import Span

        return [
            [(Span(start=0, end=7), Span(start=len(d.context()) + 4, end=len(d.context()) + 7))]
            for d in documents
        ]


def test_any_resolver_can_be_asked():
    reader = replay.coreference.load(f"{__name__}:OneCluster")
    (reading,) = reader.resolve_question({"title": "Ann Lee"}, [], "Did she sing?")

    assert (reader.signature, reading.antecedent, reading.distribution) == ("one-cluster", "Ann Lee", ())


def test_clusters_become_readings(tmp_path):
    from replay.coreference.question_reader import QuestionReader

    (reading,) = QuestionReader(OneCluster()).resolve_question({"title": "Ann Lee"}, [], "Did she sing?")

    assert (reading.mention.text, reading.antecedent, reading.distribution) == ("she", "Ann Lee", ())


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
