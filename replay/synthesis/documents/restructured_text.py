"""
reStructuredText, Sphinx's roles and directives included, without running any directive.

They are taken out before docutils parses the text, line for line: a role leaves its text, an admonition its
content, anything else nothing. Only tables stay directives; files are never included.
"""

from __future__ import annotations

import re
from typing import Any

from replay.core.extras import extra_module
from replay.synthesis.documents.document import DocumentBuilder, SourceDocument, line_offsets
from replay.synthesis.documents.prose import GAP, IMAGE, LINK_END, LINK_START, code

_KEPT = frozenset(["list-table", "csv-table", "table"])
_ADMONITIONS = frozenset((
    "note", "warning", "tip", "important", "caution", "hint", "attention", "danger",
))  # fmt: skip
"""Directives whose argument is already text."""
_WITH_PROSE = _ADMONITIONS | frozenset((
    "admonition", "versionadded", "versionchanged", "deprecated", "topic", "container", "compound", "tab",
    "tab-item", "tabs", "tab-set", "details", "dropdown", "only", "glossary",
))  # fmt: skip
"""Others whose content is kept. That of an object's description isn't: it would have lost its subject."""
_SHOWN = frozenset((
    "code-block", "sourcecode", "code", "literalinclude", "image", "figure", "graphviz", "parsed-literal",
    "mermaid", "plot", "math",
))  # fmt: skip
_DIRECTIVE = re.compile(r"^([ \t]*)\.\. (?:\|[^|]+\| )?([\w:+.-]+)::(?:[ \t](.*))?$")
_OPTION = re.compile(r"^[ \t]+:[\w-]+:(?:[ \t].*)?$")


def read_restructured_text(path: str, source: str, *, title: str) -> SourceDocument:
    """Return *source*, the text of the file at *path*; *title* is used where the text has none."""
    core = extra_module("docutils.core", "synthesis", "reading documents")
    settings = {
        "report_level": 5,
        "halt_level": 5,
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "input_encoding": "unicode",
        "doctitle_xform": False,
        "smart_quotes": False,
        "_disable_config": True,
    }
    lines = _without_directives(source.expandtabs(8).split("\n"))
    tree = core.publish_doctree(_without_roles("\n".join(lines)), settings_overrides=settings)
    builder = DocumentBuilder(path)
    offsets = line_offsets(source)
    _DoctreeWalk(builder, offsets).blocks(tree, 0)
    builder.set_title(title)
    return builder.finish(len(source))


def _without_directives(lines: list[str]) -> list[str]:
    """Return as many lines, without directives but for those with prose, whose body moves to their margin."""
    kept: list[str] = []
    number = 0
    while number < len(lines):
        found = _DIRECTIVE.match(lines[number])
        if not found or found[2] in _KEPT:
            kept.append(lines[number])
            number += 1
            continue
        margin, name, argument = found[1], found[2].rpartition(":")[2], found[3] or ""
        body = _body(lines, number + 1, len(margin))
        number += 1 + len(body)
        if name not in _WITH_PROSE:
            kept += [margin + IMAGE if name in _SHOWN else "", *[""] * len(body)]
            continue
        options = next((n for n, line in enumerate(body) if not _OPTION.match(line)), len(body))
        inner = body[options:]
        indent = min((len(line) - len(line.lstrip()) for line in inner if line.strip()), default=0)
        kept.append(margin + argument if name in _ADMONITIONS else "")
        kept += [""] * options
        kept += _without_directives([margin + line[indent:] if line.strip() else "" for line in inner])
    return kept


def _body(lines: list[str], start: int, margin: int) -> list[str]:
    """Return the lines from *start* that are indented more than *margin*, without empty ones at the end."""
    end = last = start
    while end < len(lines):
        line = lines[end]
        if line.strip():
            if len(line) - len(line.lstrip()) <= margin:
                break
            last = end + 1
        end += 1
    return lines[start:last]


_ROLE = re.compile(r"(?<![\w`:]):((?:[\w+.-]+:)*[\w+.-]+):`([^`]+)`(?!`)")
_WITH_TARGET = re.compile(r"(.*?)\s*<([^<>]*)>\s*", re.DOTALL)
_TITLES = frozenset((
    "ref", "doc", "numref", "any", "issue", "gh", "gh-issue", "gh-pr", "pr", "cve", "cwe", "ghsa", "source",
    "ticket", "bpo", "commit", "user",
))  # fmt: skip
"""Roles whose text, unless it is given, is something else's title."""
_WORDS = frozenset((
    "term", "guilabel", "menuselection", "abbr", "dfn", "emphasis", "strong", "title", "title-reference",
    "sub", "sup", "math", "index", "download", "std-term",
))  # fmt: skip
_SUBSTITUTION = re.compile(r"(?<![\w|`])\|[\w.][\w. -]*\|(?:_{1,2})?(?![\w|])")
_FOOTNOTE = re.compile(r"(?<=\S) ?\[(?:#[\w-]*|\*|\d+|[A-Z]\w+)\]_(?!\w)")


def _without_roles(source: str) -> str:
    source = _ROLE.sub(_text_of_role, source)
    return _FOOTNOTE.sub("", _SUBSTITUTION.sub(GAP, source))


def _text_of_role(found: re.Match[str]) -> str:
    name, text = found[1].rpartition(":")[2], found[2]
    breaks = "\n" * text.count("\n")
    target = _WITH_TARGET.fullmatch(text)
    if target and target[1]:
        shown = target[1].strip()
        linked = name in _TITLES or name in ("term", "pep", "rfc", "download")
        return _one_line(shown if linked else code(shown)) + breaks
    if name in ("pep", "rfc"):
        return f"{name.upper()} {text.partition('#')[0]}"
    if name in _TITLES:
        return GAP + breaks
    if name == "abbr":
        return _one_line(text.partition("(")[0].strip()) + breaks
    if name in _WORDS:
        return _one_line(text.replace("-->", "→")) + breaks
    short = text[1:].rpartition(".")[2] if text.startswith("~") else text.lstrip("!")
    return _one_line(code(short)) + breaks


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("*", "\\*").replace("_ ", "\\_ ")


class _DoctreeWalk:
    def __init__(self, builder: DocumentBuilder, offsets: list[int]) -> None:
        self._builder = builder
        self._offsets = offsets

    def blocks(self, node: Any, level: int) -> None:
        """Add what is inside *node*, a section of *level*."""
        for child in node.children:
            match type(child).__name__:
                case "section":
                    self.blocks(child, level + 1)
                case "title" if level:
                    line = max(0, (child.line or 1) - 2)
                    start = self._offsets[min(line, len(self._offsets) - 1)]
                    self._builder.heading(level, _marked_text(child), start)
                case "paragraph":
                    self._builder.paragraph(_marked_text(child))
                case "bullet_list" | "enumerated_list" | "definition_list" | "field_list":
                    self._list(child)
                case "table":
                    self._table(child)
                case "literal_block" | "doctest_block":
                    self._builder.skip_shown()
                case "block_quote" | "compound" | "container" | "line_block":
                    self.blocks(child, level)

    def _list(self, node: Any) -> None:
        items: list[list[str]] = []
        inner = []
        for item in node.children:
            if type(item).__name__ == "definition_list_item":
                term = next(
                    (_marked_text(part) for part in item.children if type(part).__name__ == "term"), ""
                )
                body = next((part for part in item.children if type(part).__name__ == "definition"), None)
                first, *rest = _paragraphs(body) or [""]
                items.append([f"{term}: {first}", *rest])
            elif type(item).__name__ == "list_item":
                body = item
                items.append(_paragraphs(item))
            else:
                continue
            inner += [part for part in (body.children if body else ()) if type(part).__name__ in _LISTS]
        self._builder.item_list(items, ordered=type(node).__name__ == "enumerated_list")
        for part in inner:
            self._list(part)

    def _table(self, node: Any) -> None:
        groups = {
            type(group).__name__: [[_cell(entry) for entry in row.children] for row in group.children]
            for part in node.children
            if type(part).__name__ == "tgroup"
            for group in part.children
            if type(group).__name__ in ("thead", "tbody")
        }
        if groups.get("thead") and groups.get("tbody"):
            self._builder.table(groups["thead"][-1], groups["tbody"])


_LISTS = ("bullet_list", "enumerated_list", "definition_list")


def _paragraphs(node: Any) -> list[str]:
    return (
        [_marked_text(child) for child in node.children if type(child).__name__ == "paragraph"]
        if node
        else []
    )


def _cell(entry: Any) -> str:
    return " ".join(_marked_text(child) for child in entry.children)


def _marked_text(node: Any) -> str:
    """Return the text of *node*, marked."""
    parts: list[str] = []
    for child in node.children:
        match type(child).__name__:
            case "Text":
                parts.append(child.astext())
            case "literal":
                parts.append(code(child.astext()))
            case "reference":
                parts.append(f"{LINK_START}{_marked_text(child)}{LINK_END}")
            case "problematic" | "substitution_reference" | "image":
                parts.append(GAP)
            case "footnote_reference" | "citation_reference" | "target" | "system_message":
                continue
            case _:
                parts.append(_marked_text(child))
    return "".join(parts)
