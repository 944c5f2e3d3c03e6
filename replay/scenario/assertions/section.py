"""
One entry of a scenario's ``assert`` section: a bound on a number, or on how far it fell since another run.

Which turn depths an assertion is about, as a scenario writes it: ``3``, ``">=3"``, ``"<=2"``, ``"2-5"``.

``pass^3(check)`` as an assertion's metric: how often all of three plays of a turn pass.

``pass@3(check)``: how often any of them does. ``pass^3(check, conversations)`` speaks of whole conversations,
as that row of a report does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from replay.statistics.pass_curves import PassKind


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depths from *first* to *last*, both included."""

    first: int = 1
    last: int | None = None
    """None where there is no end."""

    def __contains__(self, depth: int) -> bool:
        return self.first <= depth and (self.last is None or depth <= self.last)

    def __str__(self) -> str:
        if self.last is None:
            return f"depth >={self.first}" if self.first > 1 else "all depths"
        if self.first == self.last:
            return f"depth {self.first}"
        return f"depth {self.first}-{self.last}"


ALL_DEPTHS = DepthRange()


def read_depths(value: Any) -> DepthRange:
    """
    Return the range that *value* means, such as ``3``, ``">=3"`` or ``"2-5"``; a range as it is.

    Raises:
        ValueError: it means none, or no depth lies in it.
    """
    if isinstance(value, DepthRange):
        return value
    text = "" if isinstance(value, bool) else str(value).replace(" ", "")
    found = re.fullmatch(r"(>=|<=|>|<|=|)([0-9]{1,9})", text)
    between = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if found:
        sign, number = found[1], int(found[2])
        first, last = {
            ">=": (number, None),
            ">": (number + 1, None),
            "<=": (1, number),
            "<": (1, number - 1),
        }.get(sign, (number, number))
    elif between:
        first, last = int(between[1]), int(between[2])
    else:
        raise ValueError(f'{value!r} is no depth; write 3, ">=3", "<=2" or "2-5"')
    if first < 1 or (last is not None and last < first):
        raise ValueError(f"{value!r} holds no depth; 1 is a conversation's first turn")
    return DepthRange(first, last)


_FORM = re.compile(r"pass([\^@])([0-9]{1,3})\((.*?)(, conversations)?\)")
WAYS = "pass^3(SCORE), pass@3(SCORE) or pass^3(SCORE, conversations)"


class PassMetric(NamedTuple):
    """What is asked of several plays."""

    kind: PassKind
    k: int
    score: str
    """A score that is 0 or 1."""
    whole: bool
    """Of whole conversations."""


def is_pass_metric(metric: str) -> bool:
    """Return whether *metric* is meant as one."""
    return metric.startswith(("pass^", "pass@"))


def pass_metric(metric: str) -> PassMetric | None:
    """Parse *metric*, such as ``pass^3(check)``; return None if it has no valid form."""
    found = _FORM.fullmatch(metric)
    if found is None or int(found[2]) < 1:
        return None
    return PassMetric(cast("PassKind", found[1]), int(found[2]), found[3], bool(found[4]))


Bound = Annotated[float, Field(allow_inf_nan=False)]
Change = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Assertion(BaseModel):
    """What has to hold, for every system and policy that it speaks of."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=False)

    metric: str = Field(min_length=1)
    """A scorer's or judge's label, or an operational one such as ``errors`` or ``latency_p95_s``."""
    policy: str | None = None
    """Each policy of the run when left out."""
    system: str | None = None
    """Each system of the run when left out."""
    depth: Annotated[DepthRange, BeforeValidator(read_depths)] = ALL_DEPTHS
    """A depth, or a range as in ``>=3``, ``<=2`` or ``2-5``."""
    min: Bound | None = None
    """What the number has to reach."""
    max: Bound | None = None
    """What it may be at most."""
    max_unchecked: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Of checks: the share of them that may have been impossible to look at, as skipped questions are."""
    compare: str | None = Field(default=None, min_length=1)
    """Another run's folder, relative to the scenario's."""
    max_drop: Change | None = None
    """By how much the number may be lower than in that run, on the same turns."""
    max_rise: Change | None = None
    """By how much it may be higher: for errors, latencies and costs."""
    significant: bool = False
    """Fail only if the change is also unlikely to be chance: p at most 0.05 by a paired permutation test."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        bounded = self.min is not None or self.max is not None
        changes = (self.max_drop is not None) + (self.max_rise is not None)
        if self.compare is None:
            for name in ("max_drop", "max_rise", "significant"):
                if getattr(self, name) not in (None, False):
                    raise ValueError(f"{name} needs compare: the folder of the run to compare with")
            if not bounded:
                raise ValueError("it asks for nothing; give min or max, or compare with max_drop or max_rise")
            if self.min is not None and self.max is not None and self.min > self.max:
                raise ValueError(f"no number is at least {self.min:g} and at most {self.max:g}")
        elif bounded:
            raise ValueError("min and max bound the number, compare its change; make two entries of it")
        elif changes != 1:
            raise ValueError("compare goes with either max_drop or max_rise")
        return self

    @property
    def score(self) -> str:
        """The score that it is about: ``check``, of ``pass^3(check)`` too."""
        asked = pass_metric(self.metric)
        return asked.score if asked else self.metric

    @property
    def title(self) -> str:
        """The assertion in one line, such as ``f1 at least 0.5 (gold)``."""
        if self.compare is None:
            parts = [("at least", self.min), ("at most", self.max)]
            asked = " and ".join(f"{how} {bound:g}" for how, bound in parts if bound is not None)
        else:
            how, room = ("drops", self.max_drop) if self.max_drop is not None else ("rises", self.max_rise)
            asked = f"{how} by at most {room:g}{' or by chance' if self.significant else ''}"
            asked += f" since {self.compare}"
        about = [self.system, self.policy, None if self.depth == ALL_DEPTHS else str(self.depth)]
        where = ", ".join(part for part in about if part is not None)
        return f"{self.metric} {asked} ({where})" if where else f"{self.metric} {asked}"
