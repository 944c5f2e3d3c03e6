"""The shipped reader as a resolver, with its own weights."""

from __future__ import annotations

import subprocess
import sys

import pytest

from replay.coreference.reading.embedded import VERSION, EmbeddedResolver
from replay.coreference.reading.resolver import MentionReader, Resolver
from replay.coreference.reading.rewriting import rewrite
from tests.coreference.reading.made_up import document

RESOLVER = EmbeddedResolver()
SINGER = document("Where was she born?", "Who is that?", "Ann Lee is a singer.")


def test_it_is_a_resolver_and_a_reader():
    assert isinstance(RESOLVER, Resolver)
    assert isinstance(RESOLVER, MentionReader)
    assert RESOLVER.signature == f"embedded-{VERSION}"


def test_a_pronoun_means_who_was_said_and_is_replaced_by_it():
    (read,) = RESOLVER.read([SINGER])

    assert [r.antecedent for r in read if r.mention.text == "she"] == ["Ann Lee"]
    assert rewrite(SINGER.question, read) == "Where was Ann Lee born?"


def test_a_title_says_who_is_meant_where_nothing_else_does():
    asked = document("Where was she born?", title="Ann Lee")

    assert rewrite(asked.question, RESOLVER.read([asked])[0]) == "Where was Ann Lee born?"


def test_a_question_that_names_all_it_asks_for_stays():
    asked = document("What is the capital of France?", "Who is that?", "Ann Lee is a singer.")

    assert rewrite(asked.question, RESOLVER.read([asked])[0]) == asked.question


def test_clusters_hold_the_antecedent_and_the_mentions():
    (found,) = RESOLVER.resolve([SINGER])
    text = SINGER.text()

    assert ["Ann Lee", "she"] in [[text[span.start : span.end] for span in cluster] for cluster in found]


@pytest.mark.parametrize("question", ["", " ", "Did she like it?"])
def test_where_nothing_was_said_nothing_is_read(question):
    assert (RESOLVER.read([document(question)]), RESOLVER.resolve([document(question)])) == ([()], [[]])


def test_importing_and_making_it_loads_no_library_that_calculates():
    code = (
        "import sys, replay.coreference.reading.embedded as e; e.EmbeddedResolver().signature;"
        "print([m for m in ('onnxruntime', 'torch', 'pandas', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
