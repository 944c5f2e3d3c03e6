import subprocess
import sys

import pytest

import replay.coreference
from replay.core.errors import PluginNotFoundError, ScenarioError
from replay.coreference.reading.readings import DocumentBackground

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


def test_clusters_become_readings(tmp_path):
    from replay.coreference.reading.readings import QuestionReader

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
