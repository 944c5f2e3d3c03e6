"""What each format's reader keeps of a text and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from replay.core.errors import DatasetError
from replay.synthesis.documents.document import (
    SourceDocument,
    SourceList,
    SourceParagraph,
    SourceSection,
    SourceSentence,
    SourceTable,
)
from replay.synthesis.documents.html import read_html
from replay.synthesis.documents.markdown import read_markdown, read_plain_text
from replay.synthesis.documents.prose import sentences
from replay.synthesis.documents.read import read_csv, read_json_lines
from replay.synthesis.documents.restructured_text import read_restructured_text
from tests.data_tables import from_table


def markdown(source: str) -> SourceDocument:
    return read_markdown("guide.md", source, title="guide")


def all_sentences(section: SourceSection) -> list[SourceSentence]:
    found: list[SourceSentence] = []
    for block in section.blocks:
        match block:
            case SourceParagraph():
                found += block.sentences
            case SourceList():
                found += [sentence for item in block.items for sentence in item.sentences]
            case SourceTable():
                found += [cell for row in block.rows for cell in row]
    return found


def texts(document: SourceDocument) -> list[str]:
    return [sentence.text for section in document.sections for sentence in all_sentences(section)]


@from_table
def test_sentences_are_cut_where_they_end_and_nothing_else_is_one(paragraph, expected):
    assert [piece.text for piece in sentences(paragraph)] == expected


def test_code_is_kept_with_its_range_and_never_divided():
    section = markdown("Set `a. B` and `--dry-run` first. The rest is `x`.").sections[0]
    first, second = all_sentences(section)
    assert [first.text[start:end] for start, end in first.literals] == ["a. B", "--dry-run"]
    assert second.text == "The rest is x."
    assert [second.text[start:end] for start, end in second.literals] == ["x"]


PAGE = """\
---
title: "How it works"
---
[![build](https://x/badge.svg)](https://x) ![logo](logo.png)

<!-- nobody
sees this. -->
The program is *fast* and [small](https://x).
It needs {{< version >}} of the tool. It runs on {{< glossary_tooltip text="pods" term_id="pod" >}} alone.

import Tabs from '@theme/Tabs';

<Tabs>
<TabItem value="a">

:::note Title

It is careful with memory.

:::

</TabItem>
</Tabs>

> [!WARNING]
> Do not stop it while it writes.

## Setting it up {#setup}

Run this command first:

```
make install
```

This installs what it needs. It takes about a minute.

The settings are:

- **color**: which color it has
- `size`: how large it is
  - an inner item of the list

| Name | Default |
|------|---------|
| `a`  | **1**   |
| b    |

### See also

- [Guide](guide.md)

## What's next

You can read on elsewhere.
"""


def test_a_page_of_a_site_generator():
    document = markdown(PAGE)
    assert document.title == "How it works"
    first, second = document.sections
    assert [sentence.text for sentence in all_sentences(first)] == [
        "The program is fast and small.",
        "It runs on pods alone.",
        "It is careful with memory.",
        "Do not stop it while it writes.",
    ]
    assert (first.headings, second.headings) == ((), ("Setting it up",))
    assert (first.id, second.id) == ("guide.md#1", "guide.md#2")
    assert PAGE[second.start :].startswith("## Setting it up")
    assert PAGE[second.end :].startswith("### See also")
    paragraph, lead_in, items, inner, table = second.blocks
    assert isinstance(paragraph, SourceParagraph)
    assert [sentence.text for sentence in paragraph.sentences] == ["It takes about a minute."]
    assert isinstance(lead_in, SourceParagraph)
    assert lead_in.sentences[0].text == "The settings are:"
    assert isinstance(items, SourceList)
    assert [item.sentences[0].text for item in items.items] == [
        "color: which color it has",
        "size: how large it is",
    ]
    assert isinstance(inner, SourceList)
    assert isinstance(table, SourceTable)
    assert table.header == ("Name", "Default")
    assert [[cell.text for cell in row] for row in table.rows] == [["a", "1"], ["b", ""]]
    assert table.rows[0][0].literals == ((0, 1),)


def test_a_list_of_links_is_navigation():
    assert not markdown("- [One](1.md)\n- [Two](2.md)\n- [Three](3.md)\n").sections


def test_mkdocs_admonitions_and_tabs_are_text():
    found = texts(
        markdown('!!! tip "Faster"\n    It is faster with more memory.\n\n=== "Linux"\n\n    It is there.\n')
    )
    assert found == ["It is faster with more memory.", "It is there."]


def test_a_gap_takes_its_sentence_with_it():
    source = "Use {% version %} of it now. Then it is ready. It shows `{{ name }}` as it is."
    assert texts(markdown(source)) == ["Then it is ready.", "It shows {{ name }} as it is."]


HTML = """<html><head><title>Manual</title><style>p {}</style></head><body>
<nav><ul><li>Home of all the pages.</li></ul></nav><div class="sidebar"><p>This is a menu for you.</p></div>
<main><h1>Manual</h1><p>The <code>cat</code> command<br>prints a file.<sup>[1]</sup>
It is <b>old</b>.</p>
<pre>cat x</pre><p>This prints the file. It is simple.</p>
<ul><li>One item of it<ul><li>an inner one</li></ul></li>
<li><p>Two.</p><p>It has a second paragraph.</p></li></ul>
<dl><dt>term</dt><dd>what it means</dd></dl>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>two of them</td></tr></table>
<script>var x = "This is a script of it.";</script></main>
<footer><p>This is the foot of all pages.</p></footer></body></html>"""


def test_html_is_read_without_what_surrounds_it():
    document = read_html("a.html", HTML, title="a")
    assert document.title == "Manual"
    assert texts(document) == [
        "The cat command prints a file.",
        "It is old.",
        "It is simple.",
        "One item of it",
        "Two.",
        "It has a second paragraph.",
        "an inner one",
        "term: what it means",
        "1",
        "two of them",
    ]
    (section,) = document.sections
    assert HTML[section.start :].startswith("<h1>")


RST = """\
.. _top:

Guide
=====

.. currentmodule:: flask

The :class:`~flask.Flask` object is central. See :ref:`other` for it. It uses :ref:`signals <sig>` often.

.. note::
   It is made once. |release| is the newest of them.

.. note:: It is short too.

.. code-block:: python

   print("This is code and no text.")

This prints a line. A list follows it:

.. versionadded:: 1.0

#. First of all things
#. Then the ``second`` one

.. list-table::
   :header-rows: 1

   * - Name
     - Use
   * - ``a``
     - all of it

.. unknown-thing:: x
   :option: 1

   Nothing of this is text for us.

.. py:function:: f(x)

   Return the value of it.
"""


def test_sphinx_pages_are_read_without_running_anything(capfd):
    document = read_restructured_text("a.rst", RST, title="a")
    assert capfd.readouterr() == ("", "")
    assert document.title == "Guide"
    assert texts(document) == [
        "The Flask object is central.",
        "It uses signals often.",
        "It is made once.",
        "It is short too.",
        "A list follows it:",
        "First of all things",
        "Then the second one",
        "a",
        "all of it",
    ]
    assert RST[document.sections[0].start :].startswith("Guide\n")


def test_a_restructured_text_file_includes_no_other(tmp_path):
    (tmp_path / "secret.txt").write_text("This is the secret of it.")
    secret = tmp_path / "secret.txt"
    source = f"It is here.\n\n.. include:: {secret}\n\n.. csv-table:: x\n   :file: {secret}\n"
    assert texts(read_restructured_text("a.rst", source, title="a")) == ["It is here."]


def test_plain_text_has_lists_and_headings():
    source = "Setting up\n\nIt takes a * b minutes <now>.\nIt is easy.\n\n- one thing\n- another thing\n"
    document = read_plain_text("a.txt", source, title="a")
    assert texts(document) == ["It takes a * b minutes <now>.", "It is easy.", "one thing", "another thing"]
    assert document.sections[0].headings == ("Setting up",)


def test_rows_are_tables_of_a_hundred():
    source = "name;price\n" + "".join(f"thing {n};{n}\n" for n in range(150))
    document = read_csv("a.csv", source, title="a")
    tables = [section.blocks[0] for section in document.sections]
    assert [len(table.rows) for table in tables if isinstance(table, SourceTable)] == [100, 50]
    assert document.sections[1].text.startswith("name; price\nthing 100; 100\n")


@pytest.mark.parametrize("first", ["Ada;1870", "Ada;2026-07-08", "Ada;;"])
def test_a_file_without_column_names_is_no_table(first):
    with pytest.raises(DatasetError) as caught:
        read_csv("a.csv", f"{first}\n{first}\n", title="a")
    assert str(caught.value) == "a.csv:1: has no column names; expected them in the first row"


def test_each_record_is_a_document():
    lines = ['{"title": "T", "content": "It is **good**."}', "", "{", "[]", '{"id": 1}']
    first, *errors = read_json_lines("a.jsonl", "\n".join(lines))
    assert isinstance(first, SourceDocument)
    assert (first.path, first.title, texts(first)) == ("a.jsonl:1", "T", ["It is good."])
    assert [str(error) for error in errors] == [
        "a.jsonl:3: is no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))",
        "a.jsonl:4: found no object; expected one with a text",
        'a.jsonl:5: has no text; expected one of the fields "text", "content", "body"',
    ]


PARTS = [
    "# A heading\n", "\n", "\n\n", "It is `so. X` here. ", "No [link](x) there! ", "{{< x >}} ", "- item\n",
    "  - inner\n", "| A | B |\n|---|---|\n| `1` | |\n", "```\ncode\n```\n", "\ue000\ue004", "<b>", "</code>",
    "<code>", "![x](y) ",
    "É\u00a0\u2028é. ", "> ", "1. ", "\t", "Note: ", "“Is it so?” ", "(It is.) ", "e.g. ",
    "&amp; ", "{% if %}", "{: .x}",
]  # fmt: skip


def read_table(path: str, source: str, *, title: str) -> SourceDocument:
    return read_csv(path, f"A;B\n{source}", title=title)


READERS = [read_markdown, read_html, read_restructured_text, read_plain_text, read_table]


@pytest.mark.parametrize("read", READERS)
@settings(max_examples=40, deadline=None)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=30))
def test_offsets_hold_whatever_is_read(read, parts):
    from replay.synthesis.documents.prose import without_marks

    document = read("x", without_marks("".join(parts)), title="x")
    for section in document.sections:
        end = -1
        for sentence in all_sentences(section):
            assert section.text[sentence.start : sentence.end] == sentence.text
            assert sentence.start > end or not sentence.text
            end = sentence.end
            assert not any("\ue000" <= character <= "\uf8ff" for character in sentence.text)
            assert "  " not in sentence.text
            for first, last in sentence.literals:
                assert 0 <= first < last <= len(sentence.text)


def test_ids_name_file_and_number(tmp_path):
    path = (tmp_path / "a.md").as_posix()
    document = read_markdown(path, "It is one.\n\n# Two\n\nIt is two.\n", title="a")
    assert [section.id for section in document.sections] == [f"{path}#1", f"{path}#2"]
    assert Path(document.path) == tmp_path / "a.md"
