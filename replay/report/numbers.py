"""Numbers as pages and sentences show them."""

from __future__ import annotations

from collections.abc import Mapping

from replay.scorers.scorer import SHARE

NONE = "–"
MINUS = "−"


def number(value: float | None, unit: str = SHARE, *, signed: bool = False) -> str:
    """Return a score in *unit*; a share is shown in per cent without the sign, which the heading has."""
    if value is None:
        return NONE
    if unit == SHARE:
        text = f"{100 * value:.1f}"
    elif unit == "s":
        text = duration(abs(value))
        text = f"-{text}" if value < 0 else text
    else:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("-")
    elif signed and value > 0:
        text = f"+{text}"
    return text.replace("-", MINUS) if text.startswith("-") else text


def duration(value_s: float | None) -> str:
    """Return a duration as text, such as ``0.4 ms``, ``12 ms``, ``3.2 s`` or ``4 min 10 s``."""
    if value_s is None:
        return NONE
    if value_s < 1:
        return f"{1000 * value_s:.3g} ms" if value_s >= 1e-6 else "0 ms"
    if value_s < 120:
        return f"{value_s:.3g} s"
    minutes, seconds = divmod(round(value_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def count_text(count: int, noun: str, verb: tuple[str, str] = ("", "")) -> str:
    """Return ``1 turn has`` or ``1,200 turns have``, *verb* being those of one and of several."""
    return f"{count:,} {noun}{'' if count == 1 else 's'} {verb[count != 1]}".rstrip()


def headline(units: Mapping[str, str]) -> str:
    """Return the score to show where there is room for one, from *units* by score; empty without scores."""
    shares = [name for name, unit in units.items() if unit == SHARE]
    return "f1" if "f1" in shares else next(iter(shares or units), "")


def unit_name(unit: str) -> str:
    """Return the text after a score's name, such as ``%``, ``s`` or ``tokens``; empty for points."""
    return "%" if unit == SHARE else unit


def with_unit(name: str, unit: str) -> str:
    """Return the score's name with its unit, such as ``f1 (%)``."""
    return f"{name} ({unit_name(unit)})" if unit else name


def p_value(p: float | None) -> str:
    return NONE if p is None else "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def usd(value: float | None) -> str:
    if value is None:
        return NONE
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"
