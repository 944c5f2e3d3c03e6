"""Templates of strangers: they run nothing, read nothing else, and come to an end."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from replay.core.asking.templating import Template, TextTemplate, template_variables
from replay.core.conversation import Conversation, Passage
from replay.core.history import Exchange

TALK = Conversation(id="c", turns=(), title="T", passages=(Passage(id="p1", text="One."),))
VARIABLES = template_variables(
    TALK, question="Why?", history=[Exchange(question="Who?", answer="Me.")] * 3, depth=4, session_id="s"
)

HOSTILE = [
    "{{ question.__class__.__mro__[1].__subclasses__() }}",
    "{{ question|attr('__class__') }}",
    "{{ ''['__class__'] }}",
    "{{ range.__globals__ }}",
    "{{ self.__init__.__globals__ }}",
    "{{ self._TemplateReference__context }} x",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ cycler.__init__.__globals__.os.system('id') }}",
    "{{ history[0].update({'a': 1}) }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% extends 'x' %}",
    "{% for i in range(10**9) %}x{% endfor %}",
    "{% for i in range(999999999) %}x{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}x{% endfor %}{% endfor %}",
    "{% for i in history recursive %}{{ loop(history) }}{{ loop(history) }}{% endfor %}",
    "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "{{ 'a' * 10**9 }}",
    "{{ 'a' * 999999999 }} x",
    "{{ [1] * 999999999 }}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ 9**9**9**9 }}",
    "{{ 'x'|center(999999999) }}",
    "{{ 'x'.center(999999999) }}",
    "{{ 'x'.ljust(999999999) }} x",
    "{{ 'x'.zfill(999999999) }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%999999999d'|format(1) }}",
    "{{ 'x'|indent(999999999, true) }}",
    "{{ [1]|tojson(indent=999999999) }}",
    "{{ lipsum(n=9999999) }}",
    "{{ 'a\tb'.expandtabs(999999999) }}",
    "{% set x = 'xxxxxxxxxx' %}" + "{% set x = x ~ x %}" * 40 + "{{ x }}",
    "{% set x = 'xxxxxxxxxx' %}" + "{% set x = x + x %}" * 40 + "{{ x }}",
    "{% set x = 'xxxxxxxxxx' %}" + "{% set x = [x, x]|join %}" * 40 + "{{ x }}",
    "{% set x = 'xxxxxxxxxx' %}" + "{% set x = x.replace('x', 'xxxx') %}" * 40 + "{{ x }}",
    "{% set x = 'xxxxxxxxxx' %}" + "{% set x = x|replace('x', 'xxxx') %}" * 40 + "{{ x }}",
    "{% set x = [1, 1] %}" + "{% set x = [x, x] %}" * 40 + "{{ x }}",
    "{% set result = [1, 1] %}" + "{% set result = [result, result] %}" * 40 + "{{ result }}",
    "{% set x = {'a': 1} %}" + "{% set x = {'a': x, 'b': x} %}" * 40 + "{{ x|tojson }}",
    "{% set ns = namespace(x='xx') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% for i in range(9999) %}{{ 'x' ~ 'y' * 1 }}{% endfor %}",
    "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "{{ " + "[" * 5_000 + "]" * 5_000 + " }}",
    "{{ " + "-" * 20_000 + "1 }}",
    "{{ 1 / 0 }}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_template_is_refused_in_a_second_and_in_little_memory(text):
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(ValueError, match="template"):
            Template(text).render(VARIABLES)
        took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert took < 10  # tracing makes it ten times slower
    assert peak < 200 * 2**20


def test_a_text_that_grows_while_it_is_rendered_is_stopped():
    long = template_variables(TALK, question="x" * 1_000_000)
    with pytest.raises(ValueError, match="grows beyond"):
        TextTemplate("{% for i in range(9999) %}{{ question }}{% endfor %}").render(long)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% for e in history %}{{ loop.index }}/{{ loop.length }} {{ e.question }} {% endfor %}",
         "1/3 Who? 2/3 Who? 3/3 Who? "),
        ("{{ question ~ '-' ~ depth }}!", "Why?-4!"),
        ("{{ 'Q: ' + question }}", "Q: Why?"),
        ("{{ depth * 2 + 1 }}.", "9."),
        ("{{ '%.2f'|format(0.5) }} {{ '%s' % question }}", "0.50 Why?"),
        ("{{ history|map(attribute='answer')|join(', ') }}.", "Me., Me., Me.."),
        ("{{ history|join('|', attribute='answer') }}.", "Me.|Me.|Me.."),
        ("{% set last = history[-1] %}{{ last.answer|replace('e', 'i') }}", "Mi."),
        ("{{ {'q': question}|tojson }} ", '{"q": "Why?"} '),
        ("{{ question|upper }} {{ question.lower() }} {{ question|urlencode }}", "WHY? why? Why%3F"),
        ("{% if history|length > 2 %}long{% else %}short{% endif %}", "long"),
        ("{% for n in range(3) if n != 1 %}{{ n }}{% endfor %}", "02"),
    ],
)  # fmt: skip
def test_what_people_write_goes_on_working(text, expected):
    assert TextTemplate(text).render(VARIABLES) == expected


def test_a_body_may_hold_lists_of_its_own():
    assert Template("{{ [question, depth] }}").render(VARIABLES) == ["Why?", 4]
    assert Template("{{ {'a': [1, 2]} }}").render(VARIABLES) == {"a": [1, 2]}
