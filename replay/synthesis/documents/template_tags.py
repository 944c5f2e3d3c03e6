"""Tags of template languages in text: Liquid, Jinja, Hugo's shortcodes, MDN's macros."""

from __future__ import annotations

import re

from replay.synthesis.documents.prose import GAP, code

_CODE_NAMES = (
    "highlight|code|codeblock|codenew|code_sample|mermaid|configuration|configuration_basic|command|terminal|details"
    "|history|include-code|capture|comment|clipboard"
)
_CODE_BLOCK = re.compile(
    rf"\{{\{{[<%][ ]*({_CODE_NAMES})\b(?:(?!/>|[>%]\}}\}}).)*[>%]\}}\}}.*?\{{\{{[<%][ ]*/[ ]*\1[ ]*[>%]\}}\}}"
    rf"|\{{%-?[ ]*({_CODE_NAMES})\b[^%]*%\}}.*?\{{%-?[ ]*end_?\2[ ]*-?%\}}",
    re.DOTALL,
)
_CLOSED = re.compile(r"\{\{[<%][ ]*/[ ]*([\w-]+)|\{%-?[ ]*end_?(\w+)")
_TAG = r"\{\{(?:[^{}]|\{[^{}]*\}){0,2000}\}\}|\{%(?:[^%]|%(?!\})){0,2000}%\}"
_TAG_LINE = re.compile(rf"^[ \t]*(?:(?:{_TAG})[ \t]*)+$", re.MULTILINE)
_TAG_OR_CODE = re.compile(rf"(?P<ticks>`+)[^`]+(?P=ticks)|(?P<tag>{_TAG})")
_ATTRIBUTE = re.compile(r"\b(?:text|title|label|name|term_id)\s*=\s*[\"']([^\"']*)[\"']")
_MACRO = re.compile(r"\{\{\s*(\w+)\s*\(\s*[\"']([^\"']*)[\"'](?:\s*,\s*[\"']([^\"']*)[\"'])?")
_TERM = re.compile(r"\{%\s*term\s+(?:\"([^\"]*)\"|([\w-]+))(?:\s+\"([^\"]*)\")?\s*%\}")
_SILENT = ("raw", "if", "else", "elsif", "elif", "for", "set", "assign")
_HEADINGS = {"prerequisites": "Before you begin", "objectives": "Objectives"}
_NAME = re.compile(r"\{[{%][<%-]*\s*(/?)\s*([\w-]*)")


def without_template_tags(source: str) -> str:
    """
    Return *source* without tags, with as many lines; code spans stay as they are.

    A tag alone on its line vanishes. One within text becomes its text, where it shows it (a glossary's term,
    a link's title), else a gap, since nobody knows what it would print.
    """
    if "{{" not in source and "{%" not in source:
        return source
    source = _CODE_BLOCK.sub(_lines, source)
    closed = {name for found in _CLOSED.findall(source) for name in found if name}
    source = _TAG_LINE.sub(_lines, source)

    def replace(found: re.Match[str]) -> str:
        tag = found["tag"]
        return found[0] if tag is None else _text_of(tag, closed) + "\n" * tag.count("\n")

    return _TAG_OR_CODE.sub(replace, source)


def _lines(found: re.Match[str]) -> str:
    """Return a line break for each that is taken out, and text that the tag alone on its line shows."""
    return "\n" * found[0].count("\n")


def _text_of(tag: str, closed: set[str]) -> str:
    named = _NAME.match(tag)
    slash, name = named.groups() if named else ("", "")
    if slash or name in closed or name.startswith("end") or name in _SILENT:
        return ""
    if name == "heading":  # Kubernetes' headings of standard sections
        return _HEADINGS.get(_argument(tag), "What's next")
    if term := _TERM.match(tag):
        return term[3] or term[1] or term[2].replace("_", " ")
    if macro := _MACRO.match(tag):
        text = macro[3] or macro[2]
        return text if name.lower() in ("glossary", "rfc") else code(text)
    if shown := _ATTRIBUTE.search(tag):
        return shown[1] if "term_id" not in shown[0] else shown[1].replace("-", " ")
    return GAP


def _argument(tag: str) -> str:
    found = re.search(r"[\"']([^\"']*)[\"']", tag)
    return found[1] if found else ""
