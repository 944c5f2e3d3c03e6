"""
How an answer's text is read before it is compared: normalization, words, and answers that decline.

The normalization is that of SQuAD v1.1's ``evaluate-v1.1.py`` (Rajpurkar et al., 2016), which QuAC and CoQA
took over. The rule over several references is that of QuAC's scorer (Choi et al., 2018). Chinese and
Japanese are split as in ``mlqa_evaluation_v1.py`` (Lewis et al., 2020, *MLQA*), text by text: one without
such characters is read as ever, so English turns score the same in mixed data.

Patterns are searched for by Rust's regex, which comes with pydantic, whoever wrote the pattern and the
text: it takes no longer than a text is long, where Python's own takes for ever over some. It lacks
look-around and backreferences, which can't be had in linear time.
"""

from __future__ import annotations

import hashlib
import re
import string
import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, Literal

from replay.core.conversation import CANNOT_ANSWER

Tokens = Literal["plain", "squad"]
"""``plain``: lower-case runs of letters and digits, for ASCII text those of the rouge-score package
without its stemmer. ``squad``: the words of the SQuAD-normalized text, so without articles. Under both, each
Chinese character and each kana is a word of its own."""

DECLINING_PATTERNS = (r"CANNOTANSWER\.?", r"I don['’]t know\.?")
"""Whole answers that say the question can't be answered: regular expressions, case ignored."""

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")

# Han characters, and kana of full and half width. Korean is written with spaces.
_HAN = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_CJK = _HAN + r"\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_CJK_WORD = re.compile(f"[{_CJK}]")
_FIRST_WIDE = "\u3001"
"""Punctuation from here on is Chinese or Japanese, as "。" and that of full width."""
_PLAIN_WORDS = re.compile(r"[^\W_]+")
_PLAIN_MIXED_WORDS = re.compile(rf"(?=[^\W_])[{_CJK}]|[^\W_{_CJK}]+")
_SQUAD_MIXED_WORDS = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")


def normalize(text: str) -> str:
    """
    Return *text* in lower case, without ASCII punctuation, articles and extra white space.

    ``normalize("The U.S.-led war")`` is ``"usled war"``: punctuation goes before words are told
    apart, as in the original.
    """
    return " ".join(_without_articles(text.lower()).split())


def _without_articles(bare: str) -> str:
    return _ARTICLES.sub(" ", bare.translate(_PUNCTUATION))


def words(text: str, tokens: Tokens, stemmer: bool = False) -> list[str]:
    """
    Return the words of *text*, in order, or their stems, which rouge-score's *stemmer* leaves.

    ``words("北京大学 (PKU)。", "squad")`` is ``["北", "京", "大", "学", "pku"]``. Where a text has Chinese or
    Japanese characters, any script's punctuation is none of its words. A phrase in another script written
    without spaces (Thai) counts as one word. The stemmer is Porter's, for ASCII words past three letters.
    """
    if tokens == "plain":
        found = (_PLAIN_WORDS if text.isascii() else _PLAIN_MIXED_WORDS).findall(text.lower())
    elif text.isascii():
        found = normalize(text).split()
    else:
        first = "" if _CJK_WORD.search(text) else _FIRST_WIDE
        bare = [c for c in text.lower() if c < first or not unicodedata.category(c).startswith("P")]
        found = _SQUAD_MIXED_WORDS.findall(_without_articles("".join(bare)))
    return [_stem(word) for word in found] if stemmer else found


def words_signature(tokens: Tokens, stemmer: bool = False) -> str:
    """Return how words are compared, for a signature: ``plain+cjk``, ``squad+cjk+stem``, ..."""
    return f"{tokens}+cjk{'+stem' if stemmer else ''}"


def declines(text: str, patterns: Sequence[str]) -> bool:
    """Return whether *text*, stripped, is QuAC's CANNOTANSWER or matches one of *patterns* as a whole."""
    stripped = text.strip()
    return stripped == CANNOT_ANSWER or (bool(patterns) and _matches(tuple(patterns), stripped))


def quac_references(gold_answers: Sequence[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """
    Return the references that an answer is compared with, by the rule of QuAC's scorer.

    If as many references decline as answer, or more, the question counts as unanswerable and
    ``CANNOTANSWER`` is the only reference; otherwise those that decline are dropped. Empty only if
    *gold_answers* is.
    """
    if not gold_answers:
        return ()
    answering = tuple(answer for answer in gold_answers if not declines(answer, patterns))
    return answering if 2 * len(answering) > len(gold_answers) else (CANNOT_ANSWER,)


def check_patterns(patterns: Sequence[str]) -> None:
    """
    Make sure that *patterns* can be used.

    Raises:
        ValueError: one is not a regular expression, or has what takes more than linear time (look-around,
            backreferences); the message says which, and why.
    """
    for pattern in patterns:
        try:
            compile_pattern(pattern)  # alone, or a bracket in it could close ours
            compile_pattern(_whole((pattern,)))
        except ValueError as error:
            raise ValueError(f"declining: {error}") from error


def patterns_signature(patterns: Sequence[str]) -> str:
    """Return ``default``, ``quac`` for none beside QuAC's mark, or a short digest of other patterns."""
    if tuple(patterns) == DECLINING_PATTERNS:
        return "default"
    if not patterns:
        return "quac"
    return hashlib.sha256("\n".join(patterns).encode()).hexdigest()[:8]


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    if not word.isascii():
        return word  # the tokenizer below would tear it apart
    from rouge_score.tokenize import tokenize  # type: ignore[import-untyped]

    return str(tokenize(word, _porter_stemmer())[0])


_LOADING = Lock()


@lru_cache(maxsize=1)
def _porter_stemmer() -> Any:
    """
    Return the stemmer that rouge-score takes from nltk, of which one module is loaded and not the package.

    The whole of nltk imports scipy.stats and much else: 10 s and 120 MB, in place of 0.2 s and 11 MB.
    """
    with _LOADING:  # another thread would take away what this one imports from
        if "nltk" in sys.modules:
            return import_module("nltk.stem.porter").PorterStemmer()
        found = find_spec("nltk")
        assert found is not None, "rouge-score depends on it"
        root = Path(found.origin or "").parent
        for name, place in (("nltk", root), ("nltk.stem", root / "stem")):
            package = ModuleType(name)
            package.__path__ = [str(place)]
            sys.modules[name] = package
        try:
            return import_module("nltk.stem.porter").PorterStemmer()
        finally:  # whoever imports nltk gets all of it
            for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
                del sys.modules[name]


def _matches(patterns: tuple[str, ...], text: str) -> bool:
    """Return whether the whole of *text* matches one of *patterns*."""
    return found_in(_whole(patterns), text)


@lru_cache(maxsize=64)
def _whole(patterns: tuple[str, ...]) -> str:
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns)
    return rf"(?i)\A(?:{alternatives})\z"


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    """
    Return *pattern*, for ``found_in``.

    Raises:
        ValueError: it is no regular expression that can be used; the message says why.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        reason = str(error).strip().splitlines()[-1].strip().removeprefix("error: ").rstrip(".")
        raise ValueError(
            f'"{pattern}" is not a regular expression that can be used ({reason}); write it '
            "in the syntax of https://docs.rs/regex, whose patterns take no longer than an answer is long"
        ) from error


def found_in(pattern: str, text: str) -> bool:
    """Return whether *pattern* matches anywhere in *text*; half a surrogate pair counts as "?"."""
    return bool(compile_pattern(pattern).isinstance_python(text.encode("utf-8", "replace").decode()))
