"""
One entry of a scenario's ``assert`` section: a bound on a number, or on how far it fell since another run.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from replay.scenario.assertions.depth_range import ALL_DEPTHS, DepthRange, read_depths
from replay.scenario.assertions.pass_metric import pass_metric

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
