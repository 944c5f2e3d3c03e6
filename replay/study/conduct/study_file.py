"""
The study file: what people are to do, with which systems or runs.

Read and checked as a scenario is: all faults at once, each with its line and key path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError, field_validator

from replay.core.asking.patience import Patience
from replay.core.errors import Fault, ScenarioError
from replay.core.settings.bounds import Attempts, PositiveSeconds, Seconds, Together, at_most
from replay.core.settings.choice import PluginChoice, Section
from replay.core.settings.faults import faults_of, nearest
from replay.core.settings.plugins import build
from replay.core.settings.yaml_lines import Lines, parse
from replay.scenario.reading import located, text_of
from replay.scenario.secret_detection import secret_faults
from replay.scenario.sections import DataSection, SystemSection
from replay.study.preset import Preset
from replay.study.presets.names import PRESETS


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


class Study(Section):
    """A whole study file."""

    name: str = Field(min_length=1, max_length=100)
    preset: PluginChoice
    data: DataSection | None = None
    systems: tuple[SystemSection, ...] = ()
    runs: tuple[Path, ...] = ()
    """Folders of runs whose answers are judged, relative to the study file's folder."""
    raters: Annotated[int, Field(ge=1), at_most(1_000, "each has a link of their own")] | tuple[str, ...] = 2
    """How many take part at first, or what they are called; more can be added while it goes on."""
    instructions: str | None = None
    """In the place of the preset's: paragraphs between blank lines."""
    consent: ConsentSection | None = None
    practice: PracticeSection | None = None
    limits: LimitsSection = LimitsSection()
    ask: AskSection = AskSection()
    comments: bool = True
    """A field for comments on every screen."""
    seed: Annotated[int, Field(ge=0), at_most(2**63 - 1, "that is the largest 64-bit integer")] = 0
    """For what is drawn and in which order it is given."""
    not_secret: tuple[str, ...] = ()
    """Key paths of what looks like a key and is none."""

    @field_validator("raters")
    @classmethod
    def _named(cls, raters: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if isinstance(raters, tuple):
            if not raters or any(not name.strip() for name in raters):
                raise ValueError("each rater needs a name, or give their number")
            twice = sorted({name for name in raters if raters.count(name) > 1})
            if twice:
                raise ValueError(f'"{twice[0]}" is there twice; raters need names that differ')
        return raters

    @property
    def rater_names(self) -> tuple[str, ...]:
        """What the raters are called who take part from the beginning."""
        if isinstance(self.raters, tuple):
            return self.raters
        return tuple(f"rater-{number}" for number in range(1, self.raters + 1))

    @property
    def patience(self) -> Patience:
        """How a system is asked."""
        ask = self.ask
        return Patience(
            timeout_s=ask.timeout_s,
            attempts=ask.attempts,
            backoff_s=ask.backoff_s,
            fail_fast=False,  # others go on talking with the systems that answer
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFile:
    """A study file with where it came from."""

    study: Study
    preset: Preset
    text: str
    """As written; kept in the study's database."""
    source: str
    """The file's path, for messages."""
    folder: Path
    """What relative paths start from."""
    lines: Lines


def read_study(path: Path) -> StudyFile:
    """
    Read the study file at *path*.

    Raises:
        ScenarioError: it can't be read or has faults; all of them at once.
    """
    return parse_study(text_of(path), source=str(path), folder=path.resolve().parent)


def parse_study(text: str, *, source: str, folder: Path) -> StudyFile:
    """
    The study in *text*; *source* names it in messages, *folder* is what its paths start from.

    Raises:
        ScenarioError: it has faults; all of them at once.
    """
    value, lines, faults = parse(text)
    if not isinstance(value, Mapping):
        faults = faults or [
            Fault(path="", message="a study is a mapping with name, preset and what it needs")
        ]
        raise ScenarioError(source, faults)
    not_secret = value.get("not_secret")
    secrets, value = secret_faults(value, text, not_secret if isinstance(not_secret, list) else ())
    faults += secrets
    study: Study | None = None
    preset: Preset | None = None
    try:
        study = Study.model_validate(value)
    except ValidationError as error:
        faults += faults_of(error, Study, value, "")
    else:
        preset, more = _preset(study, folder)
        faults += more
    if faults or study is None or preset is None:
        raise ScenarioError(source, located(faults, lines))
    return StudyFile(study=study, preset=preset, text=text, source=source, folder=folder, lines=lines)


def _preset(study: Study, folder: Path) -> tuple[Preset | None, list[Fault]]:
    """What *study* chose, built; and what is wrong with that, or missing for it."""
    choice = study.preset
    if choice.name not in PRESETS:
        known = ", ".join(PRESETS)
        return None, [
            Fault(
                path="preset",
                message=f'"{choice.name}" is not a preset{nearest(choice.name, PRESETS)} (there are {known})',
            )
        ]
    try:
        preset: Preset = build(
            PRESETS[choice.name], choice.settings, folder=folder, key_path=f"preset.{choice.settings_key}"
        )
    except ScenarioError as error:
        return None, list(error.faults)
    faults = []
    for key in ("data", "systems", "runs"):
        given: Any = getattr(study, key)
        if key in preset.needs and not given:
            faults.append(Fault(path=key, message=f"is missing; {choice.name} needs it"))
        elif key not in preset.needs and given:
            needed = " and ".join(sorted(preset.needs))
            faults.append(Fault(path=key, message=f"has no use; {choice.name} needs {needed}"))
    return preset, faults


def without_names(text: str) -> str:
    """
    The study file *text* with numbers in the place of its raters' names.

    That is what a study keeps, since a name has to be erased when somebody withdraws; the names themselves
    are in its table of raters.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    listed = _value(node, "raters")
    if not isinstance(listed, yaml.SequenceNode):
        return text
    numbers = {name.value: str(number) for number, name in enumerate(listed.value, start=1)}
    adjudicator = _value(_value(_value(node, "preset"), "rating"), "adjudicator")
    in_place: list[tuple[yaml.Node, str]] = [(listed, " 1\n")]
    if adjudicator is not None and adjudicator.value in numbers:
        in_place.append((adjudicator, numbers[adjudicator.value]))
    # From the end, so that what stands before keeps its position.
    for part, new in sorted(in_place, key=lambda one: one[0].start_mark.index, reverse=True):
        text = text[: part.start_mark.index] + new + text[part.end_mark.index :]
    return text


def _value(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """What stands under *name* in the mapping *node*."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in pairs if key.value == name), None)
