"""
Markdown of documentation: CommonMark with tables, and without what site generators put between.

Their tags, shortcodes and components (Jekyll, Hugo, MkDocs, Docusaurus, MDX, MDN) are taken out before
the text is parsed, line for line, so that offsets stay those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from replay.synthesis.documents.document import DocumentBuilder, SourceDocument, line_offsets
from replay.synthesis.documents.html import add_html, text_of_tag, without_template_tags
from replay.synthesis.documents.prose import GAP, IMAGE, LINK_END, LINK_START, code

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


def read_markdown(path: str, source: str, *, title: str) -> SourceDocument:
    """Return *source*, the text of the file at *path*; *title* is used where the text has none."""
    builder = DocumentBuilder(path)
    content, front_title = _without_front_matter(source)
    builder.set_title(front_title)
    _MarkdownWalk(builder, _parser().parse(_strip_site_tags(content)), line_offsets(source)).blocks()
    builder.set_title(title)
    return builder.finish(len(source))


def read_plain_text(path: str, source: str, *, title: str) -> SourceDocument:
    """Return *source*, a text with blank lines between paragraphs, perhaps with lists and headings."""
    builder = DocumentBuilder(path)
    lines = source.split("\n")
    for number, line in enumerate(lines[:-1]):
        alone = not lines[number + 1].strip() and not (number and lines[number - 1].strip())
        if alone and _LOOKS_LIKE_HEADING.fullmatch(line.rstrip()):
            lines[number] = f"## {line}"
    _MarkdownWalk(builder, _plain_parser().parse("\n".join(lines)), line_offsets(source)).blocks()
    builder.set_title(title)
    return builder.finish(len(source))


_LOOKS_LIKE_HEADING = re.compile(r"(?:\d+(?:\.\d+)*\.? )?[A-Z](?:\S* ){0,8}\S*[^\s.,;:!?]")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable("table")


@cache
def _plain_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable(["heading", "lheading", "list"])


_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?\n)??\1[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title\s*[:=]\s*(.*?)\s*$", re.MULTILINE)


def _without_front_matter(source: str) -> tuple[str, str]:
    found = _FRONT_MATTER.match(source)
    if not found:
        return source, ""
    title = _FRONT_TITLE.search(found[2] or "")
    text = title[1].strip("\"'") if title else ""
    return "\n" * found[0].count("\n") + source[found.end() :], text


_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}|\{#.{0,1000}?#\}", re.DOTALL)
_KEPT_TAGS = "table|thead|tbody|tr|td|th|ul|ol|li|dl|dt|dd|pre|script|style|svg|iframe|video|form|nav|footer"
_TAG_LINE = re.compile(
    rf"^[ \t]*(?:</?(?!(?:{_KEPT_TAGS})\b)[A-Za-z][\w.-]*(?:\s[^<>]*)?/?>[ \t]*)+$", re.MULTILINE
)
_DROPPED_LINE = re.compile(
    r"^[ \t]*(?::{3,}.*|>?[ \t]*\[![\w-]+\].*|\[\^[^\]\n]+\]:.*|\[?\[_*toc_*\]\]?|[*-] TOC"
    r"|(?-i:import|export)[ \t].*['\";{}]|%%.*|\{:?[#.:][^{}\n]*\})[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_ADMONITION = re.compile(r"^([ \t]*)(?:!!!|\?\?\?\+?|===!?\+?)[ \t]+\S.*$")


def _strip_site_tags(source: str) -> str:
    """Return *source* without tags of site generators, with as many lines."""
    source = _COMMENT.sub(_blank, source)
    source = without_template_tags(source)
    source = _TAG_LINE.sub(_blank, source)
    source = _DROPPED_LINE.sub(lambda found: ">" if found[0].lstrip().startswith(">") else "", source)
    return _without_admonitions(source) if _HAS_ADMONITION.search(source) else source


_HAS_ADMONITION = re.compile(r"^[ \t]*(?:!!!|\?\?\?|===)\+? ", re.MULTILINE)


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _without_admonitions(source: str) -> str:
    """Return *source* with the indented blocks of MkDocs' admonitions and tabs in line with the rest."""
    lines, margin = [], None
    for line in source.split("\n"):
        if found := _ADMONITION.match(line):
            margin = found[1] + "    "
            line = ""
        elif margin and line.startswith(margin):
            line = line[len(margin) :]
        elif line.strip():
            margin = None
        lines.append(line)
    return "\n".join(lines)


class _MarkdownWalk:
    """One way through a file's tokens."""

    def __init__(self, builder: DocumentBuilder, tokens: Sequence[Token], offsets: Sequence[int]) -> None:
        self._builder = builder
        self._tokens: Iterator[Token] = iter(tokens)
        self._offsets = offsets

    def blocks(self) -> None:
        for token in self._tokens:
            match token.type:
                case "heading_open":
                    assert token.map
                    line = min(token.map[0], len(self._offsets) - 1)
                    self._builder.heading(int(token.tag[1:]), self._inline(), self._offsets[line])
                case "inline":
                    self._builder.paragraph(_marked_text(token))
                case "bullet_list_open" | "ordered_list_open":
                    self._list(ordered=token.type.startswith("ordered"))
                case "table_open":
                    self._table()
                case "fence" | "code_block":
                    self._builder.skip_shown()
                case "html_block" if ">" in token.content:
                    add_html(self._builder, token.content)

    def _inline(self) -> str:
        return _marked_text(next(self._tokens))

    def _list(self, *, ordered: bool) -> None:
        """Add a list, then those inside its items."""
        items: list[list[str]] = []
        inner: list[tuple[list[list[str]], bool]] = []
        open_lists = [(items, ordered)]
        for token in self._tokens:
            current = open_lists[-1][0]
            if token.type in ("bullet_list_open", "ordered_list_open"):
                open_lists.append(([], token.type.startswith("ordered")))
                inner.append(open_lists[-1])
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                open_lists.pop()
                if not open_lists:
                    break
            elif token.type == "list_item_open":
                current.append([])
            elif token.type == "inline":
                current[-1].append(_marked_text(token))
            elif token.type == "table_open":
                self._skip_table()
        for texts, numbered in [(items, ordered), *inner]:
            self._builder.item_list(texts, ordered=numbered)

    def _rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for token in self._tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(_marked_text(token))
            elif token.type == "table_close":
                break
        return rows

    def _table(self) -> None:
        header, *rows = self._rows()
        self._builder.table(header, rows)

    def _skip_table(self) -> None:
        self._rows()


_PICTURE_LINK = re.compile(f"{LINK_START}(?:[\\s{IMAGE}]*){LINK_END}")


def _marked_text(token: Token) -> str:
    """Return an inline token's text, marked."""
    children = token.children or []
    if len(children) == 1 and children[0].type == "text":
        return _text(children[0].content)
    parts = []
    for child in children:
        match child.type:
            case "text":
                parts.append(_text(child.content))
            case "code_inline":
                parts.append(code(child.content))
            case "softbreak" | "hardbreak":
                parts.append(" ")
            case "link_open":
                parts.append(LINK_START)
            case "link_close":
                parts.append(LINK_END)
            case "image":
                parts.append(IMAGE)
            case "html_inline":
                parts.append(text_of_tag(child.content))
    return _PICTURE_LINK.sub(IMAGE, "".join(parts))


_ATTRIBUTES = re.compile(r"\{[:#.][^{}]*\}")
_EXPRESSION = re.compile(r"\{[A-Za-z_][^{}]*\}")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]")
_EMOJI = re.compile(r"(?<!\S):[a-z][a-z0-9_+-]*:(?!\S)")


def _text(text: str) -> str:
    """Return text outside code without attributes, expressions and emoji that are written as words."""
    if "{" in text:
        text = _EXPRESSION.sub(GAP, _ATTRIBUTES.sub("", text))
    if "[[" in text:
        text = _WIKI_LINK.sub(r"\1", text)
    return _EMOJI.sub("", text) if ":" in text else text
