"""Making a template reads it and computes nothing of it: that takes no time, no memory and no code."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from replay.core.asking.templating import Template, TextTemplate

HEAVY = (
    "{{ 9**(9**9) }}",
    "x {{ 9**(9**9) }}",
    "{{ 1|round(300000000, 'ceil') }}",
    "x {{ '%0900000000d'|format(1) }}",
    "{{ 'a' * 10**10 }}",
    "{{ 'x'.center(2000000000) }}",
    "{{ [] " + "|tojson" * 40 + " }}",
    "{{ {} " + "|tojson" * 40 + " }} x",
    "{% autoescape 9**(9**9) %}{% endautoescape %}",
    "{% if 9**(9**9) %}{% endif %}",
    "{% set _iterations = 9**(9**9) %}",
    "{% macro f(a=9**(9**9)) %}{% endmacro %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}",
)


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def test_nothing_is_computed_by_reading():
    """In a process that would be ended: some of these can't be interrupted otherwise."""
    program = (
        "from replay.core.asking.templating import Template, TextTemplate\n"
        f"for text in {HEAVY!r}:\n"
        "    TextTemplate(text); Template({'body': text}).names\n"
        "print('read')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, preexec_fn=_limits
    )
    assert done.stdout == "read\n", done.stderr[-2000:]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ question }} of {{ conversation.title|upper }}", {"question", "conversation"}),
        ("{% for e in history %}{{ loop.index }}{{ e.question }}{% endfor %}", {"history"}),
        ("{% for e in history %}{% endfor %}{{ e }}", {"history", "e"}),
        ("{% set question = question|upper %}{{ question }}", {"question"}),
        ("{% set n = 3 %}{{ n }}{{ range(n)|list }}", set()),
        (
            "{{ [question, 1, 'x'] }}{{ {'a': depth} }}{{ (1, session_id) }}",
            {"question", "depth", "session_id"},
        ),
        ("no variable", set()),
    ],
)
def test_the_names_are_what_somebody_has_to_give(text, names):
    assert TextTemplate(text).names == names
    assert Template({"a": [text, 1]}).names == names


@pytest.mark.parametrize(
    "text", ["{{ x|nope }}", "{{ x is nope }}", "{{ x", "{% endfor %}", "{{ " + "(" * 5000]
)
@pytest.mark.parametrize("kind", [TextTemplate, Template])
def test_what_is_no_template_is_told_when_it_is_made(kind, text):
    with pytest.raises(ValueError, match="template"):
        kind(text)


def test_what_was_read_renders_as_it_stands():
    assert Template("{{ 2**10 }}").render({}) == 1024
    assert Template("{{- [a, 1] -}}").render({"a": "x"}) == ["x", 1]
    assert TextTemplate("{{ []|tojson }}{% set b = a|upper %}{{ b }}").render({"a": "x"}) == "[]X"
