"""The sections of a study file that say how people come, work and leave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

from pydantic import Field, field_validator, model_validator

from replay.core.settings.bounds import Attempts, Count, PositiveSeconds, Seconds, Together, at_most
from replay.core.settings.choice import Section

Ending = Literal["completed", "screened_out", "declined"]
"""How a person's part in a study ends: all done; no work for them, or items with known answers failed; no
consent."""


class PlatformSection(Section):
    """People of a crowd-working platform, who all come by one link with their id in it."""

    id: str = Field(default="PROLIFIC_PID", pattern=r"^[A-Za-z][A-Za-z0-9_]{0,40}$")
    """The parameter of the address that holds a person's id: ``PROLIFIC_PID``, ``workerId``."""
    places: Annotated[int, Field(ge=1), at_most(10_000, "begin another study for more")]
    """How many may come; whoever declines, fails or leaves makes room for another."""
    codes: Mapping[Ending, str] = Field(default_factory=dict)
    """What people take back to the platform, by how their part has ended."""
    return_to: str | None = None
    """The platform's address that they go back to; ``{code}`` stands for their code."""

    @field_validator("codes")
    @classmethod
    def _not_blank(cls, codes: Mapping[Ending, str]) -> Mapping[Ending, str]:
        if any(not code.strip() for code in codes.values()):
            raise ValueError("a code is empty; leave out how people end who get none")
        return codes

    @field_validator("return_to")
    @classmethod
    def _an_address(cls, address: str | None) -> str | None:
        if address is None:
            return None
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or "{code}" not in address:
            raise ValueError(
                f'"{address}" is not an address with {{code}} in it, such as '
                "https://app.prolific.com/submissions/complete?cc={code}"
            )
        return address

    def way_back(self, ending: Ending) -> str | None:
        """The platform's address for somebody who ends so; None where there is no code for that."""
        code = self.codes.get(ending)
        if code is None or self.return_to is None:
            return None
        return self.return_to.replace("{code}", quote(code, safe=""))


class ConsentSection(Section):
    """What people agree to before they begin; kept with the version that they were shown."""

    text: str = Field(min_length=1)
    version: str = "1"


class PracticeSection(Section):
    """Items with known answers, before the work."""

    items: Path
    """JSON lines, relative to the study file's folder; docs/studies.md shows each preset's."""
    pass_mark: float = Field(default=0.8, ge=0, le=1)
    """Share of the fields that have to be right."""
    feedback: bool = True
    """Show the right answer after each item; without it the practice is a qualification."""
    tries: int = Field(default=2, ge=1, le=100)
    """How often it can be taken."""


class AttentionSection(Section):
    """Items with known answers among the work, which look like all others."""

    items: Path
    """JSON lines as in a practice file, relative to the study file's folder."""
    every: Count = 10
    """One of them stands somewhere in so many pieces of work, at a spot drawn for each person."""
    stop_after: Count | None = None
    """So many of them answered wrongly end somebody's part, and others do it again; None for never."""


class QuestionSection(Section):
    """A question of the study's own: a number of a *scale*, one of *choices*, or a text if it has neither."""

    question: str = Field(min_length=1)
    scale: Mapping[int, str] | None = None
    """Numbers and what they mean, in the order in which they are shown."""
    choices: tuple[str, ...] | None = None
    required: bool = True
    """False where it can be left empty."""
    help: str = ""
    """In small print below the question."""

    @model_validator(mode="after")
    def _one_way(self) -> QuestionSection:
        if self.scale is not None and self.choices is not None:
            raise ValueError("has a scale and choices; give one of them, or neither for a text")
        labels = tuple((self.scale or {}).values()) or self.choices
        if labels is not None and (len(set(labels)) < 2 or not all(one.strip() for one in labels)):
            raise ValueError("needs two or more answers to choose from, none of them empty")
        return self


class AskSection(Section):
    """How systems are asked while a person waits."""

    timeout_s: PositiveSeconds = 60.0
    attempts: Attempts = 2
    backoff_s: Seconds = 0.5
    concurrency: Together = 16
    """Questions under way at a time; more wait for each other."""
    session_idle_s: PositiveSeconds = 3_600.0
    """A talk that nobody goes on with for so long has its session closed. It goes on with another one, unless
    the system keeps the history itself: then it is set aside."""


class LimitsSection(Section):
    """What is too much, and what too fast."""

    message_characters: int = Field(default=1_000, ge=1, le=20_000)
    between_messages_s: Seconds = 1.0
    """A person's messages to a system come no faster."""
    tasks_per_rater: int | None = Field(default=None, ge=1)
    """Nobody is given more; None where the preset's own numbers decide."""
    too_fast_s: Seconds = 2.0
    """A screen answered in less is flagged to the study's owner."""
    idle_h: PositiveSeconds = 72.0
    """Hours after which what somebody left open goes to others."""
