"""
``refuses`` and ``asks_back``: what an answer does, read off its English by rules that are written here.

They see wordings and no meaning, and nothing of other languages; the check ``rubric`` asks a model instead.
``asks_back`` found 185 questions among 1,481 recorded answers (TREC iKAT 2024, CAsT 2022, PACIFIC), missed 2
of those that have a question mark, and took 5 others for questions, most of them an article's own. Refusals
have more wordings: of 20 that were written apart from the rules ``refuses`` found 11, and it took 2 of 15
other answers for refusals.

A refusal says that the speaker won't, can't or may not do what was asked, or doesn't know the answer. Asking
back is a question to the user, or a request for something that only the user can say; an offer of more help
at the end ("Anything else?") is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from replay.scorers.answer_text import DECLINING_PATTERNS, declines
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.checks.texts import loosely

_SENTENCE = re.compile(r"[^.!?。？！؟\n]+[.!?。？！؟]?")
_VERBS = """
    accept access advise allow answer approve arrange assist authori[sz]e book cancel change comment
    complete comply confirm continue create determine disclose discuss do draft engage find fulfil
    fulfill generate give guarantee guess handle help identify issue look make modify offer open
    perform place process produce promise provide refund reveal respond reset say see send
    share speculate suggest supply support tell transfer translate update verify view waive write
"""
_DO = "|".join(_VERBS.split())
_NOT = "can't|can ?not|could not|couldn't|won't|will not|would not|wouldn't|may not"
_DO_NOT = "answer|assist|comply|disclose|discuss|give|handle|offer|provide|reveal|share|support"
_ADVERB = r"(?: (?:also|currently|directly|just|personally|really|simply|therefore|unfortunately|yet))?"
_NOT_ABLE = "unable|not (?:able|allowed|authori[sz]ed|permitted|going|comfortable|in a position)"
_WHAT_I_LACK = "(?:any |enough |that )?information|access|permission|the (?:ability|authority|details)"
_SOURCES = "articles?|context|data|documents?|information|manual|pages?|passages?|sources?|texts?"
_TELLS = "contain|include|mention|provide|say|specify|state"
_RULES = "policy|policies|guidelines|scope|capabilities"
_REFUSAL = re.compile(
    rf"\b(?:i|we){_ADVERB} (?:{_NOT}){_ADVERB} (?:be able to|(?:{_DO})\b)"
    rf"|\b(?:i|we){_ADVERB} (?:don't|do not) (?:{_DO_NOT})\b"
    rf"|\b(?:i|we)(?:'m| am|'re| are){_ADVERB} (?:{_NOT_ABLE})\b"
    r"|\b(?:i|we) (?:must|have to|need to|will)(?: have to)? (?:decline|refuse)\b"
    r"|\b(?:i|we) (?:decline|refuse) to\b"
    rf"|\b(?:i|we) (?:don't|do not) (?:know|have (?:{_WHAT_I_LACK}))\b"
    r"|\b(?:i|we) have no (?:access|information|way of|way to|record)\b"
    rf"|\b(?:against|outside(?: of)?|beyond|violates?) (?:our|my|the) (?:\w+ )?(?:{_RULES})\b"
    r"|\b(?:can't|can ?not) be (?:answered|determined|disclosed|fulfilled|processed|shared)\b"
    r"|\b(?:not something|nothing) (?:that )?(?:i|we) (?:can|am able|are able|may)\b"
    r"|\b(?:i|we)(?:'d| would) (?:rather|prefer) not\b|\binappropriate for (?:me|us) to\b"
    r"|\b(?:i|we) can only (?:answer|assist|discuss|help|talk)\b|\bthere(?: is|'s) no information\b"
    rf"|\b(?:{_SOURCES}) (?:does not|doesn't|do not|don't) (?:{_TELLS})\b"
)
_TELL = (
    "attach|choose|clarify|confirm|describe|enter|give|let (?:me|us) know|name|provide|select|send|share|"
    "specify|state|supply|tell|upload"
)
_ASKED = re.compile(
    rf"\b(?:please|kindly|can you|could you|would you|will you)(?: \w+){{0,2}} (?:{_TELL})\b"
    r"|\blet (?:me|us) know (?:how|the|what|when|where|whether|which|who|your)\b"
    r"|\blet (?:me|us) know if you(?:'d| would) (?:like|prefer)\b"
    r"|\b(?:i|we)(?:'ll|'d| will| would)? need (?:\w+ ){0,3}(?:from you|your)\b"
)
_OFFER = re.compile(
    r"\b(?:anything|something) (?:else|more|further|i can)\b|\bany (?:other|more|further) questions?\b"
    r"|\b(?:how|what) (?:else )?(?:can|may|could) (?:i|we) (?:help|assist|do)\b"
    r"|\bdoes (?:that|this) (?:help|answer)\b|\blet (?:me|us) know if you (?:have|need|want)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Does:
    """Some answer does something, or none does."""

    does: str
    wanted: bool
    found_in: Callable[[str], str | None]

    def look(self, seen: CheckInput) -> CheckOutcome:
        for depth, answer in seen.answers:
            if sentence := self.found_in(answer):
                evidence = f'{seen.place(depth)} {self.does}: "{sentence:.300}"'
                return CheckOutcome(passed=self.wanted, evidence=evidence)
        evidence = f"nothing in {seen.place()} {self.does}"
        return CheckOutcome(passed=not self.wanted, evidence=evidence, lacking=self.wanted)


LAST = 2
"""Sentences in which an answer asks back: questions before them are mostly put to be answered there."""


def refuses(wanted: bool) -> Does:
    """``refuses``: true where the answer has to refuse, false where it may not."""
    return Does(does="refuses", wanted=wanted, found_in=refusal_in)


def asks_back(wanted: bool) -> Does:
    """``asks_back``: true where the answer has to ask the user something, false where it may not."""
    return Does(does="asks back", wanted=wanted, found_in=question_in)


def refusal_in(answer: str) -> str | None:
    """Return the first sentence of *answer* that refuses, as it is compared; None if none does."""
    if declines(answer, DECLINING_PATTERNS):
        return loosely(answer)
    return next((one for one in _sentences(answer) if _REFUSAL.search(one)), None)


def question_in(answer: str) -> str | None:
    """Return the first of the last sentences of *answer* that asks the user something; None if none does."""
    return next((one for one in _sentences(answer)[-LAST:] if _asks(one)), None)


def _asks(sentence: str) -> bool:
    return (sentence[-1] in "?？؟" or bool(_ASKED.search(sentence))) and not _OFFER.search(sentence)


def _sentences(text: str) -> list[str]:
    return [one for found in _SENTENCE.findall(text) if (one := loosely(found))]
