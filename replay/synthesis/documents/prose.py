"""
Running text cut into sentences, and what is no sentence left out.

Readers hand text over *marked*: single characters of Unicode's private use area stand where code and links
begin and end, and where something stood that can't be shown as text. A sentence with such a gap is left out,
since nobody can say what it states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from replay.core.extras import extra_module

if TYPE_CHECKING:
    from spacy.language import Language

CODE_START, CODE_END, LINK_START, LINK_END, GAP, IMAGE = (
    "\ue000",
    "\ue001",
    "\ue002",
    "\ue003",
    "\ue004",
    "\ue005",
)
_OWN_MARKS = dict.fromkeys([*range(0xE000, 0xF900), 0xAD, 0x200B, 0x2060, 0xFEFF])


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """One sentence or fragment that has no place in a section yet."""

    text: str
    literals: tuple[tuple[int, int], ...] = ()


def without_marks(source: str) -> str:
    """Return a file's text without the characters that readers mark text with, and without soft hyphens."""
    return source if source.isascii() else source.translate(_OWN_MARKS)


def code(text: str) -> str:
    """Return *text* marked as code."""
    return f"{CODE_START}{text}{CODE_END}"


def plain(marked: str) -> str:
    """Return marked text as one line without marks, gaps and addresses, as for headings and cells."""
    return _piece(_tidy(marked.replace(GAP, " ").replace(IMAGE, " "))).text


def only_links(marked: str) -> bool:
    """Return whether marked text is nothing but links: navigation."""
    if LINK_START not in marked:
        return False
    rest = _LINK.sub("", marked)
    return not any(character.isalnum() for character in rest)


def fragment(marked: str) -> TextPiece | None:
    """Return marked text as one piece, whatever it is, as for cells; None if it has a gap."""
    piece = _piece(_tidy(marked))
    return None if GAP in piece.text else piece


def sentences(marked: str) -> list[TextPiece]:
    """Return the sentences of a paragraph in order; what is no sentence is left out."""
    if only_links(marked):
        return []
    return [piece for piece in _split(_piece(_without_signs(marked))) if _is_sentence(piece)]


def item_sentences(marked: str) -> list[TextPiece]:
    """Return an item's pieces: the first may be a fragment, what follows are sentences."""
    first, *rest = _split(_piece(_without_signs(marked))) or [TextPiece(text="")]
    if not any(character.isalnum() for character in first.text) or _unusable(first):
        return []
    return [first, *(piece for piece in rest if _is_sentence(piece))]


_LINK = re.compile(f"{LINK_START}[^{LINK_END}]*{LINK_END}")
_EDGE_IMAGES = re.compile(rf"^(?:{IMAGE}\s?)+|(?:\s?{IMAGE})+$")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,40}\]|(?<=[.,;:!?\"”)])\[\d{1,3}\]")
_HAS_SPACED_STOP = re.compile(r" [.,;!?]")
_BEFORE_STOP = re.compile(r"(?<=[^\s]) ([.,;!?])(?=\s|$)")
_SIGNS = re.compile(r"^(?:[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]+ ?)+")
_LABEL = re.compile(
    r"^(?:note|tip|warning|important|caution|info|hint|attention|danger|nb|reminder)s?"
    r"(?: ?[:!]|[.-] ) ?(?=\S)",
    re.IGNORECASE,
)
_BARE_URL = re.compile(r"(?:https?|ftp)://\S|\bwww\.\w")


def _tidy(marked: str) -> str:
    """Return marked text on one line, without footnote marks and images at its ends."""
    text = " ".join(marked.split())
    if "[" in text:
        text = _FOOTNOTE.sub("", text)
    if IMAGE in text:
        text = _EDGE_IMAGES.sub("", text).replace(IMAGE, GAP).strip()
    return _BEFORE_STOP.sub(r"\1", text) if _HAS_SPACED_STOP.search(text) else text


def _without_signs(marked: str) -> str:
    """Return tidy text without pictures and an admonition's label at its start."""
    text = _SIGNS.sub("", _tidy(marked))
    unlabelled = _LABEL.sub("", text, count=1)
    return text if unlabelled == text else unlabelled[:1].upper() + unlabelled[1:]


def _piece(marked: str) -> TextPiece:
    """Return a line of marked text with its code as ranges."""
    if not _MARK.search(marked):
        return TextPiece(text=marked)
    text, literals, start = "", [], None
    for part in _MARK.split(marked):
        if part == CODE_START:
            start = len(text)
        elif part == CODE_END:
            if start is not None and (literal := text[start:].rstrip()):
                literals.append((start, start + len(literal)))
            start = None
        elif part not in (LINK_START, LINK_END):
            text += part.lstrip() if text.endswith(" ") or start == len(text) else part
    cut = len(text) - len(text.lstrip())
    text = text.strip()
    return TextPiece(text=text, literals=tuple((first - cut, last - cut) for first, last in literals))


_MARK = re.compile(f"([{CODE_START}{CODE_END}{LINK_START}{LINK_END}])")


def _split(whole: TextPiece) -> list[TextPiece]:
    return [_cut(whole, start, end) for start, end in _ranges(whole)] if whole.text else []


def _cut(whole: TextPiece, start: int, end: int) -> TextPiece:
    inside = [(first - start, last - start) for first, last in whole.literals if start <= first < end]
    return TextPiece(text=whole.text[start:end], literals=tuple(inside))


_MAY_END = re.compile(r"[.!?][^\w\s]*\s")


def _ranges(whole: TextPiece) -> Iterator[tuple[int, int]]:
    """Yield the sentences' ranges, by spaCy's rules and what those don't know of documentation."""
    text = masked = whole.text
    if not _MAY_END.search(text):
        yield 0, len(text)
        return
    for first, last in whole.literals:
        masked = masked[:first] + ("0" if last - first == 1 else "X".ljust(last - first, "x")) + masked[last:]
    start = 0
    for sentence in _rules()(masked).sents:
        border = sentence.start_char
        before = masked[start:border].rstrip()
        if before.endswith(
            (' "', " “", " (", " '")
        ):  # the rules give an opening quote to the sentence before
            border = start + len(before) - 1
            before = before[:-1].rstrip()
        if border > start and not _goes_on(before, masked[border:]):
            yield start, start + len(before)
            start = border
    yield start, start + len(text[start:].rstrip())


@cache
def _rules() -> Language:
    spacy = extra_module("spacy", "synthesis", "reading documents")
    pipeline: Language = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    return pipeline


_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:etc|no|nos|fig|figs|vol|vols|p|pp|sec|sect|ch|chap|eq|ver|approx|cf|ca|al|incl|excl|resp|ed|eds"
    r"|max|min|est|dept|art|para|ref|refs|i\.e|e\.g|eg|ie|vs)\.$",
    re.IGNORECASE,
)


def _goes_on(before: str, after: str) -> bool:
    """Return whether the sentence that *before* seems to end goes on with *after*."""
    first = after[:1]
    if not before or not any(character.isalnum() for character in after[:80]):
        return True
    if (first.islower() or first.isdigit() or first in "([") and _ABBREVIATED.search(before[-12:]):
        return True
    return first.islower() and not before.endswith(".")


_SENTENCE_END = re.compile(r"[.!?:][\"'”’)\]]*$")
_POINTER = re.compile(
    r"^\(?(?:please )?(?:also )?(?:see\b|refer to\b|learn more\b|read more\b|more (?:info|details|about|on)\b"
    r"|further reading\b|related\b.{0,20}:|source:|credits?:|next:|previous:|back to\b|table of contents"
    r"|edit this\b|last (?:updated|modified|reviewed)\b|this page was\b|was this\b|thanks? (?:to|for)\b"
    r"|(?:for|to (?:learn|find out|read|know|get|see)) (?:more|further|additional|details|detailed|full"
    r"|complete|the full|the complete|a (?:full|complete|list|detailed)|an? (?:in-depth|example)|examples?"
    r"|instructions|information|help)\b.{0,160}\b(?:see|read|refer|visit|check|consult|look|review|head"
    r"|go|browse|follow|explore)\b|(?:for|to)\b[^.]{0,200}, (?:please )?(?:see|refer to|check out|visit)\b)",
    re.IGNORECASE,
)


_SHOWN = (
    "examples?|commands?|code|snippets?|scripts?|screenshots?|diagrams?|figures?|images?|pictures?|outputs?|listings?"
    "|configurations?|ya?ml|json|function|method|program|template|query|syntax|file|sample|graph|chart"
)
_POINTS_AT_SHOWN = re.compile(
    rf"\b(?:following|above|below|previous|preceding) (?:[\w.-]+ ){{0,3}}(?:{_SHOWN})\b"
    rf"|\b(?:{_SHOWN}) (?:shown |given |listed )?(?:above|below)\b"
    r"|\bas (?:you|we) can see\b"
    r"|\b(?:as|like) (?:shown |illustrated |seen |depicted )?(?:above|below|here|follows|this)[.:]?$",
    re.IGNORECASE,
)
"""What only code, a picture or a page's layout would explain; all three are gone."""
_LEANS_ON_SHOWN = re.compile(
    r"(?:this|these|that|those|here|it|they|where|note that|now|then|running (?:this|it|the)"
    r"|the (?:above|result|output|command|code|last|first|second)|in (?:this|the|our) (?:example|case|code)"
    r"|as (?:you can|we can|shown|above)|you (?:will|should|can) (?:now )?see|if you (?:run|execute|look))\b",
    re.IGNORECASE,
)


_POINTING = ("follow", "can see", "above", "below", "previous", "preceding", "here", "this")


def _points_at_shown(text: str) -> bool:
    lower = text.lower()
    return any(word in lower for word in _POINTING) and bool(_POINTS_AT_SHOWN.search(lower))


def leans_on_shown(piece: TextPiece) -> bool:
    """Return whether a sentence that stands after code or a picture seems to speak of it."""
    return bool(_LEANS_ON_SHOWN.match(piece.text))


def _unusable(piece: TextPiece) -> bool:
    """Return whether something that can't be shown stands in *piece*, or an address that nobody would say."""
    if GAP in piece.text:
        return True
    if "://" not in piece.text and "www." not in piece.text:
        return False
    found = _BARE_URL.search(piece.text)
    return bool(found and not any(first <= found.start() < last for first, last in piece.literals))


_MOST_WORDS = 90
"""What is longer is a list or a table that was taken for text."""


def _is_sentence(piece: TextPiece) -> bool:
    text = piece.text
    words = text.split()
    if (
        not 3 <= len(words) <= _MOST_WORDS
        or _unusable(piece)
        or _POINTER.match(text)
        or _points_at_shown(text)
    ):
        return False
    starts_with_code = bool(piece.literals) and piece.literals[0][0] == 0
    opening = text.lstrip("\"'“‘([¿")[:1]
    if opening.islower() and not starts_with_code and english_words(words[:1]):
        return False  # the rest of something
    if not starts_with_code and not opening.isalnum():
        return False
    if text.count("(") != text.count(")") or text.count("“") != text.count("”"):
        return False
    spoken = sum(word[:1].islower() for word in words)
    if _SENTENCE_END.search(text):
        return spoken >= 2 and (len(words) >= 4 or english_words(words) > 0)
    return len(words) >= 5 and any(word.lower() in _FINITE for word in words[1:])


_FINITE = frozenset((
    "is", "are", "was", "were", "has", "have", "had", "can", "could", "may", "might", "must", "will",
    "would", "should", "does", "did", "do", "cannot", "can't", "isn't", "aren't", "don't", "doesn't",
    "won't", "shouldn't",
))  # fmt: skip
_FUNCTION_WORDS = _FINITE | frozenset((
    "the", "a", "an", "and", "or", "but", "of", "to", "in", "on", "at", "by", "for", "from", "with",
    "without", "as", "if", "when", "while", "that", "which", "who", "this", "these", "those", "it", "its",
    "you", "your", "we", "our", "they", "their", "them", "he", "she", "his", "her", "i", "be", "been",
    "being", "not", "no", "so", "than", "then", "there", "here", "what", "how", "where", "why", "because",
    "after", "before", "into", "over", "under", "between", "through", "about", "up", "out", "off", "only",
    "also", "such", "each", "any", "all", "both", "some", "more", "most", "other", "same", "own", "too",
    "very", "just", "however", "whether", "until", "once", "during", "against",
))  # fmt: skip


def english_words(words: Iterable[str]) -> int:
    """Return how many of *words* are English function words."""
    return sum(word.strip(".,;:!?()\"'“”").lower() in _FUNCTION_WORDS for word in words)
