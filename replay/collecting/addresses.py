"""
Where postal addresses are in a text: by the names of streets, by post codes, and by what is said before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_UPPER = "A-ZÀ-Þ"
_WORD = rf"[{_UPPER}0-9][\w’'./-]*"
_UNIT = r"(?:(?:Flat|Apt\.?|Apartment|Unit|Suite|Ste\.?|Room|Floor|No\.?)\s+[\w/-]+,?\s+|#\s?\d+\w?,?\s+)"
_STREETS = (
    "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Boulevard|Blvd|Way|Hill|Close"
    "|Crescent"
    "|Terrace|Row|Wharf|View|Quay|Parkway|Pkwy|Highway|Hwy|Wall|Gardens|Gate|Walk|Mews|Park|Green|Grove|Rise"
    "|Parade"
    "|Circle|Trail|Broadway|Alley|Yard|Bridge|Embankment|Heights|Loop|Path|Plaza"
)
_UK_CODE = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_CODES = (
    _UK_CODE,
    r"[A-Z]\d[\dW] ?[A-Z0-9]{4}",  # Ireland
    r"[A-Z]\d[A-Z] ?\d[A-Z]\d",  # Canada
    r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT"
    r"|V[AT]|W[AIVY])"
    r",? \d{5}(?:-\d{4})?",
    r"(?:NSW|VIC|QLD|TAS|ACT) \d{4}",
    r"\d{4} ?[A-Z]{2} [A-ZÀ-Þ][\w’'-]+",  # Netherlands
    r"\d{3}-\d{4}(?=$|[.,;])",  # Japan
    rf"\d{{4,5}} [{_UPPER}][\w’'-]+",  # 10969 Berlin, 75002 Paris
)
_CODE = rf"(?:{'|'.join(_CODES)})"
_TAIL = (
    rf"(?:,?\s+(?:Apt\.?|Apartment|Unit|Suite|Ste\.?|Flat|Floor|#)\s*[\w/-]+)?(?:\s+(?:North|South|East|West"
    rf"|N|S|E|W)\b\.?)?"
    # Neither a line nor a sentence ends between two words: "USA", then "What would you like?"
    rf"(?:,?\s+{_CODE}|,\s+{_WORD}(?:(?<![A-Za-z0-9]{{3}}\.)[^\S\n]+{_WORD}){{0,3}}){{0,4}}"
)
_NUMBER = r"\d{1,5}[A-Za-z]?(?:[-/]\d+\w?)?"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_UNIT}?\b{_NUMBER},?\s+(?:{_WORD}\s+){{1,4}}?(?:{_STREETS})\b\.?{_TAIL}",
        rf"{_UNIT}?\b{_NUMBER}\s+(?:[NSEW]\.?\s+)?{_WORD}(?:\s+{_WORD})*\s+(?:{_STREETS})\b\.?{_TAIL}",
        rf"\b(?:[{_UPPER}][\w-]*\s+)?[{_UPPER}]?[\w-]*(?:[sS]tra(?:ß|ss)e|[sS]tr\.|[wW]eg|[pP]latz|[gG]asse"
        rf"|[aA]llee|gracht|straat|laan|plein|kade"
        rf"|vej|gade|gatan|vägen)\s+{_NUMBER}{_TAIL}",
        rf"\b{_NUMBER}(?:\s+(?:bis|ter))?,?\s+(?i:rue|avenue|boulevard|place|chemin|quai|all[ée]e|impasse"
        rf"|cours)\s+(?:(?:de|du|des|la|le|les|d[’'])\s*){{0,3}}{_WORD}(?:\s+(?:(?:de|du|des|la|le|les"
        rf"|d[’'])\s*){{0,3}}[{_UPPER}][\w’'-]*){{0,3}}{_TAIL}",
        rf"\b(?:Calle|Avenida|Av\.|Via|Viale|Piazza|Corso|Rua|Carrera|Plaza"
        rf"|Paseo)\s+(?:[\w’']+\s+){{0,4}}[\w’']+,?\s+{_NUMBER}{_TAIL}",
        rf"\b(?i:p\.?\s?o\.?\s+box)\s+\d+{_TAIL}",
        rf"(?:[{_UPPER}0-9][\w’' -]*,\s+){{0,4}}(?:{_WORD}\s+){{0,3}}\b{_UK_CODE}\b",
        rf"(?:{_WORD},?\s+){{0,6}}\b{_CODES[3]}\b",
        rf"\b(?:{_CODES[1]}|{_CODES[2]})\b",
        # In small letters, or in capitals alone, where a post code follows.
        rf"(?i:\b{_NUMBER}\s+(?:[\w’'.-]+\s+){{1,4}}(?:{_STREETS})\b[^.;!?\n]{{0,40}}?\b(?:{_UK_CODE}|{_CODES[3]})\b)",
        rf"{_UNIT}{_NUMBER}\s+{_WORD}(?:\s+{_WORD}){{0,3}}{_TAIL}",
    )
)
_ZIP_CODE = re.compile(
    rf"\b(?:[{_UPPER}]\w+,? \(?|(?:in|to|from|near) )(\d{{5}}(?:-\d{{4}})?)\b(?![.,:]\d|%|\s+[a-z]{{3,}}s\b)"
)
""" "I live in 32286", "from Denver, 80280", and not "in 20000 steps"."""
ASKS_ADDRESS = re.compile(
    r"\baddress\b|\bwhere (?:do you live|should|shall|to send|can)\b|\bship(?:ped)? to\b|\band where\b"
    r"|where to send",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\b(?:address(?: is)?|lives? (?:at|on)|living at|deliver(?:ed|y)?(?: it| them)? to|ship(?:ped)?(?: it"
    r"| them)? to"
    r"|(?:mail|send|post)(?: it| them| the \w+(?: \w+)?)? to|moved to|staying at|\w+(?:'s|’s|'m|’m| am"
    r"| is) at)\s*:?\s+",
    re.IGNORECASE,
)
_CHUNK = re.compile(rf"(?=[^.;!?\n]*\d)(?=[\d{_UPPER}])[^.;!?\n]{{6,120}}")
_ENDS = re.compile(
    r"\s+(?:and|but|for|because|since|ring|call|please|which|if|so|not|on|any)\b|,\s+(?:for|ring|call|any"
    r"|not|which|correct|and|but|please|[a-z]{3,})\b|\s[–—-]\s"
)
_SENTENCE = re.compile(r"\b(?:that|ha[ds]|have|was|were|will|would|its?|they|s?he|been|who|than)\b")
"""What stands in a sentence and in no address."""
_LIKE_AN_ADDRESS = re.compile(rf"\d\w*\s+[{_UPPER}]|[{_UPPER}]\w+\s+\d+\w*\s*,|,\s*[{_UPPER}0-9]|\d{{4,}}")


def find_addresses(text: str) -> Iterator[tuple[int, int]]:
    """
    Yield where addresses are in *text* by their form, as (begin, end); they may overlap, surer ones first.
    """
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            yield match.start(), match.start() + len(match[0].rstrip(" ,."))


def find_post_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield where an American post code stands by itself, as (begin, end)."""
    for match in _ZIP_CODE.finditer(text):
        yield match.span(1)


def find_cued_addresses(text: str, before: str) -> Iterator[tuple[int, int]]:
    """
    Yield where addresses are in *text* because something says so, as (begin, end).

    Args:
        text: What somebody said.
        before: What was said before it, which may have asked for an address.
    """
    starts = [match.end() for match in _CUE.finditer(text)]
    if ASKS_ADDRESS.search(before):
        starts += [0, *(match.end() for match in re.finditer(r"[.!?:]\s+|\b(?:is|to|at)\s+", text))]
    for start in starts:
        if match := _CHUNK.match(text, start):
            end = _ENDS.search(match[0])
            chunk = match[0][: end.start()] if end else match[0]
            if len(chunk) >= 8 and _LIKE_AN_ADDRESS.search(chunk) and not _SENTENCE.search(chunk):
                yield start, start + len(chunk.rstrip(" ,."))
