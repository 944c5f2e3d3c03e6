"""HTML: the main part of a page, without menus, forms and scripts; and tags of template languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeGuard

from replay.core.extras import extra_module
from replay.synthesis.documents.document import DocumentBuilder, SourceDocument, line_offsets
from replay.synthesis.documents.prose import (
    CODE_END,
    CODE_START,
    GAP,
    IMAGE,
    LINK_END,
    LINK_START,
    code,
)

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import PageElement, Tag

_DROPPED = frozenset((
    "nav", "footer", "script", "style", "noscript", "template", "form", "button", "select", "textarea",
    "svg", "iframe", "video", "audio", "object", "canvas", "aside", "head", "dialog", "menu", "math", "pre",
))  # fmt: skip
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hr", "html", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody",
    "td", "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
_INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "img", "input", "ins", "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s",
    "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
))  # fmt: skip
_NOT_MAIN = re.compile(
    r"(?:^|[-_\s])(?:nav|navbar|menu|breadcrumbs?|sidebar|footer|toc|cookie|banner|pagination|pager|share|social|"
    r"related|comments?|headerlink|skip-link|edit-link|advert|ads|promo)(?:$|[-_\s])",
    re.IGNORECASE,
)


def read_html(path: str, source: str, *, title: str) -> SourceDocument:
    """Return *source*, the text of the page at *path*; *title* is used where the page has none."""
    builder = DocumentBuilder(path)
    soup = _soup(source)
    main = soup.select_one("main, [role=main]") or soup.select_one("article") or soup.body or soup
    offsets = line_offsets(source)
    _HtmlWalk(builder, offsets).blocks(main)
    if soup.title:
        builder.set_title(soup.title.get_text())
    builder.set_title(title)
    return builder.finish(len(source))


def add_html(builder: DocumentBuilder, source: str) -> None:
    """Add the blocks of a piece of HTML that stands in another format; its headings are left out."""
    _HtmlWalk(builder, None).blocks(_soup(source))


_TAG = re.compile(r"<(/?)\s*([A-Za-z][\w.:-]*)(.*)>", re.DOTALL)


def text_of_tag(tag: str) -> str:
    """Return an inline tag's mark; a gap for components and placeholders, whose text nobody knows."""
    found = _TAG.fullmatch(tag)
    if not found:
        return ""
    closing, name, rest = found.groups()
    match name:
        case "br" | "wbr":
            return " "
        case "code" | "kbd" | "samp" | "tt" | "var":
            return CODE_END if closing else CODE_START
        case "a" if "href" in rest or closing:
            return LINK_END if closing else LINK_START
        case "img":
            return IMAGE
    known = name in _INLINE or name in _BLOCKS
    return "" if closing or known or (name[0].isupper() and not rest.endswith("/")) else GAP


def _soup(source: str) -> BeautifulSoup:
    package = extra_module("bs4", "synthesis", "reading documents")
    soup: BeautifulSoup = package.BeautifulSoup(source, "html.parser")
    return soup


class _HtmlWalk:
    def __init__(self, builder: DocumentBuilder, offsets: list[int] | None) -> None:
        self._builder = builder
        self._offsets = offsets
        self._text: list[str] = []

    def blocks(self, tag: Tag) -> None:
        """Add what is inside *tag*; text between blocks is a paragraph."""
        for child in tag.children:
            if not _is_tag(child):
                self._text.append(_string(child))
            elif not _is_dropped(child):
                self._block(child.name, child)
            elif child.name in ("pre", "svg", "iframe", "video"):
                self._flush()
                self._builder.skip_shown()
        if tag.name in _BLOCKS or tag.name == "[document]":
            self._flush()

    def _block(self, name: str, tag: Tag) -> None:
        if name in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._flush()
            if self._offsets is not None:
                start = self._offsets[(tag.sourceline or 1) - 1] + (tag.sourcepos or 0)
                self._builder.heading(int(name[1]), _marked_text(tag), start)
        elif name in ("ul", "ol"):
            self._flush()
            for items, ordered in _lists(tag):
                self._builder.item_list(items, ordered=ordered)
        elif name == "dl":
            self._flush()
            self._builder.item_list([[item] for item in _definitions(tag)])
        elif name == "table":
            self._flush()
            self._table(tag)
        elif name in _BLOCKS or tag.find(_is_block):
            self._flush()
            self.blocks(tag)
            self._flush()
        else:
            self._text.append(_mark(tag))

    def _flush(self) -> None:
        text = "".join(self._text)
        self._text = []
        if text.strip():
            self._builder.paragraph(text)

    def _table(self, table: Tag) -> None:
        if table.find("table"):  # a page laid out with tables
            for cell in table.find_all(["td", "th"]):
                if not cell.find("table"):
                    self.blocks(cell)
                    self._flush()
            return
        rows = [row.find_all(["td", "th"], recursive=False) for row in table.find_all("tr")]
        if rows and all(cell.name == "th" for cell in rows[0]) and len(rows[0]) > 1:
            self._builder.table(
                list(map(_marked_text, rows[0])), [list(map(_marked_text, row)) for row in rows[1:]]
            )
        elif len(rows) > 1 and all(len(row) == 2 and row[0].name == "th" for row in rows):
            self._builder.item_list(
                [[f"{_marked_text(name)}: {_marked_text(value)}"] for name, value in rows]
            )


def _is_tag(element: PageElement) -> TypeGuard[Tag]:
    return hasattr(element, "children")


def _string(element: PageElement) -> str:
    """Return text; comments, declarations and scripts have none."""
    return without_template_tags(str(element)) if type(element).__name__ == "NavigableString" else ""


def _is_block(tag: Tag) -> bool:
    return tag.name in _BLOCKS


def _is_dropped(tag: Tag) -> bool:
    if tag.name in _DROPPED or tag.get("hidden") is not None or tag.get("aria-hidden") == "true":
        return True
    signs = [*tag.get_attribute_list("class"), *tag.get_attribute_list("id")]
    return tag.get("role") in ("navigation", "search", "contentinfo", "complementary") or any(
        _NOT_MAIN.search(sign) for sign in signs if sign
    )


def _lists(tag: Tag) -> list[tuple[list[list[str]], bool]]:
    """Return a list's items, then those of the lists inside it."""
    items: list[list[str]] = []
    found = [(items, tag.name == "ol")]
    for item in tag.find_all("li", recursive=False):
        inner = item.find_all(["ul", "ol"])
        found += [part for one in inner if one.find_parent("li") is item for part in _lists(one)]
        for one in inner:
            one.extract()
        paragraphs = [p for p in item.find_all("p") if not p.find_parent("pre")]
        items.append([_marked_text(p) for p in paragraphs] if paragraphs else [_marked_text(item)])
    return found


def _definitions(tag: Tag) -> list[str]:
    items, term = [], ""
    for part in tag.find_all(["dt", "dd"]):
        if part.name == "dt":
            term = _marked_text(part)
        elif term:
            items.append(f"{term.strip().rstrip(':')}: {_marked_text(part)}")
            term = ""
    return items


def _marked_text(tag: Tag) -> str:
    """Return the text inside *tag*, marked."""
    return "".join(map(_mark, tag.children)).replace("¶", "")


def _mark(element: PageElement) -> str:
    if not _is_tag(element):
        return _string(element)
    name = element.name
    if name in ("br", "wbr"):
        return " "
    if name == "img":
        return IMAGE
    if _is_dropped(element):
        return " "
    if name in ("code", "kbd", "samp", "tt", "var"):
        return code(element.get_text())
    if name == "sup" and element.get_text().strip("[] \n").isdigit():
        return ""
    inner = _marked_text(element)
    if name == "a" and element.get("href") and inner.strip(f" \n{IMAGE}"):
        return f"{LINK_START}{inner}{LINK_END}"
    return f" {inner} " if name in _BLOCKS else inner


_CODE_NAMES = (
    "highlight|code|codeblock|codenew|code_sample|mermaid|configuration|configuration_basic|command|terminal|details"
    "|history|include-code|capture|comment|clipboard"
)
_CODE_BLOCK = re.compile(
    rf"\{{\{{[<%][ ]*({_CODE_NAMES})\b(?:(?!/>|[>%]\}}\}}).)*[>%]\}}\}}.*?\{{\{{[<%][ ]*/[ ]*\1[ ]*[>%]\}}\}}"
    rf"|\{{%-?[ ]*({_CODE_NAMES})\b[^%]*%\}}.*?\{{%-?[ ]*end_?\2[ ]*-?%\}}",
    re.DOTALL,
)
_CLOSED_TAG = re.compile(r"\{\{[<%][ ]*/[ ]*([\w-]+)|\{%-?[ ]*end_?(\w+)")
_TEMPLATE_TAG = r"\{\{(?:[^{}]|\{[^{}]*\}){0,2000}\}\}|\{%(?:[^%]|%(?!\})){0,2000}%\}"
_TAG_LINE = re.compile(rf"^[ \t]*(?:(?:{_TEMPLATE_TAG})[ \t]*)+$", re.MULTILINE)
_TAG_OR_CODE = re.compile(rf"(?P<ticks>`+)[^`]+(?P=ticks)|(?P<tag>{_TEMPLATE_TAG})")
_TAG_ATTRIBUTE = re.compile(r"\b(?:text|title|label|name|term_id)\s*=\s*[\"']([^\"']*)[\"']")
_TAG_MACRO = re.compile(r"\{\{\s*(\w+)\s*\(\s*[\"']([^\"']*)[\"'](?:\s*,\s*[\"']([^\"']*)[\"'])?")
_TAG_TERM = re.compile(r"\{%\s*term\s+(?:\"([^\"]*)\"|([\w-]+))(?:\s+\"([^\"]*)\")?\s*%\}")
_SILENT_TAGS = ("raw", "if", "else", "elsif", "elif", "for", "set", "assign")
_HEADINGS = {"prerequisites": "Before you begin", "objectives": "Objectives"}
_TAG_NAME = re.compile(r"\{[{%][<%-]*\s*(/?)\s*([\w-]*)")


def without_template_tags(source: str) -> str:
    """
    Return *source* without tags, with as many lines; code spans stay as they are.

    A tag alone on its line vanishes. One within text becomes its text, where it shows it (a glossary's term,
    a link's title), else a gap, since nobody knows what it would print.
    """
    if "{{" not in source and "{%" not in source:
        return source
    source = _CODE_BLOCK.sub(_line_breaks, source)
    closed = {name for found in _CLOSED_TAG.findall(source) for name in found if name}
    source = _TAG_LINE.sub(_line_breaks, source)

    def replace(found: re.Match[str]) -> str:
        tag = found["tag"]
        return found[0] if tag is None else _shown_by_tag(tag, closed) + "\n" * tag.count("\n")

    return _TAG_OR_CODE.sub(replace, source)


def _line_breaks(found: re.Match[str]) -> str:
    """Return a line break for each that is taken out, and text that the tag alone on its line shows."""
    return "\n" * found[0].count("\n")


def _shown_by_tag(tag: str, closed: set[str]) -> str:
    named = _TAG_NAME.match(tag)
    slash, name = named.groups() if named else ("", "")
    if slash or name in closed or name.startswith("end") or name in _SILENT_TAGS:
        return ""
    if name == "heading":  # Kubernetes' headings of standard sections
        return _HEADINGS.get(_tag_argument(tag), "What's next")
    if term := _TAG_TERM.match(tag):
        return term[3] or term[1] or term[2].replace("_", " ")
    if macro := _TAG_MACRO.match(tag):
        text = macro[3] or macro[2]
        return text if name.lower() in ("glossary", "rfc") else code(text)
    if shown := _TAG_ATTRIBUTE.search(tag):
        return shown[1] if "term_id" not in shown[0] else shown[1].replace("-", " ")
    return GAP


def _tag_argument(tag: str) -> str:
    found = re.search(r"[\"']([^\"']*)[\"']", tag)
    return found[1] if found else ""
