"""
The study file: what people are to do, with which systems or runs.

Read and checked as a scenario is: all faults at once, each with its line and key path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlsplit

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from replay.core.asking.retries import RetryPolicy
from replay.core.errors import Fault, ScenarioError
from replay.core.safety.secret_detection import secret_faults
from replay.core.settings.choice import (
    Attempts,
    Count,
    PluginChoice,
    PositiveSeconds,
    Seconds,
    Section,
    Together,
    at_most,
)
from replay.core.settings.faults import faults_of, nearest
from replay.core.settings.plugins import build
from replay.core.settings.yaml_lines import Lines, parse
from replay.scenario.reading import add_lines, text_of
from replay.scenario.sections import DataSection, SystemSection
from replay.study.preset import Preset
from replay.study.presets.compare import Compare
from replay.study.presets.convqa import ConvQA
from replay.study.presets.drift import DriftStudy
from replay.study.presets.mahueval import MaHuEval
from replay.study.presets.rating import Rating
from replay.study.presets.wording import WordingStudy

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
        """Return the platform's address for somebody who ends so; None where there is no code for that."""
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


class Study(Section):
    """A whole study file."""

    name: str = Field(min_length=1, max_length=100)
    preset: PluginChoice
    data: DataSection | None = None
    systems: tuple[SystemSection, ...] = ()
    runs: tuple[Path, ...] = ()
    """Folders of runs whose answers are judged, relative to the study file's folder."""
    raters: Annotated[int, Field(ge=1), at_most(1_000, "each has a link of their own")] | tuple[str, ...] = 2
    """How many take part at first, or what they are called; more can be added while it goes on. With a
    *platform*, none if left out."""
    platform: PlatformSection | None = None
    instructions: str | None = None
    """In the place of the preset's: paragraphs between blank lines."""
    consent: ConsentSection | None = None
    contact: str | None = Field(default=None, min_length=1, max_length=300)
    """Whom raters write to: a name and an address; shown with the consent text and below each screen."""
    practice: PracticeSection | None = None
    attention: AttentionSection | None = None
    pilot: Count | None = None
    """So many tasks are given at first, until the owner begins the main part; None for all at once."""
    limits: LimitsSection = LimitsSection()
    ask: AskSection = AskSection()
    questions: Mapping[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")], QuestionSection] = Field(
        default_factory=dict
    )
    """Of the study's own, by the name that their answers have in tables; asked once in each task."""
    comments: bool = True
    """A field for comments on every screen."""
    seed: Annotated[int, Field(ge=0), at_most(2**63 - 1, "that is the largest 64-bit integer")] = 0
    """For what is drawn and in which order it is given."""
    not_secret: tuple[str, ...] = ()
    """Key paths of what looks like a key and is none."""

    @field_validator("raters")
    @classmethod
    def _check_names(cls, raters: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if isinstance(raters, tuple):
            if not raters or any(not name.strip() for name in raters):
                raise ValueError("each rater needs a name, or give their number")
            twice = sorted({name for name in raters if raters.count(name) > 1})
            if twice:
                raise ValueError(f'"{twice[0]}" is there twice; raters need names that differ')
        return raters

    @property
    def rater_names(self) -> tuple[str, ...]:
        """The names of the raters who take part from the beginning."""
        if isinstance(self.raters, tuple):
            return self.raters
        if self.platform is not None and "raters" not in self.model_fields_set:
            return ()
        return tuple(f"rater-{number}" for number in range(1, self.raters + 1))

    @property
    def patience(self) -> RetryPolicy:
        """The timeout and the retries of requests to systems."""
        ask = self.ask
        return RetryPolicy(
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
    Return the study in *text*; *source* names it in messages, *folder* is what its paths start from.

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
        raise ScenarioError(source, add_lines(faults, lines))
    return StudyFile(study=study, preset=preset, text=text, source=source, folder=folder, lines=lines)


def _preset(study: Study, folder: Path) -> tuple[Preset | None, list[Fault]]:
    """Return the preset of *study*, or None if it can't be built; and the faults of the two."""
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
            needed = " and ".join(sorted(preset.needs)) or "none of data, systems and runs"
            faults.append(Fault(path=key, message=f"has no use; {choice.name} needs {needed}"))
    return preset, faults


def without_names(text: str) -> str:
    """
    Return the study file *text* without comments, with numbers in the place of its raters' names.

    That is what a study keeps, since a name has to be erased when somebody withdraws, and any comment may
    hold one; the names themselves are in its table of raters.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    listed = _value(node, "raters")
    if isinstance(listed, yaml.SequenceNode):
        numbers = {name.value: number for number, name in enumerate(listed.value, start=1)}
        adjudicator = _value(_value(_value(node, "preset"), "rating"), "adjudicator")
        if adjudicator is not None and adjudicator.value in numbers:
            _put_number(_value(_value(node, "preset"), "rating"), "adjudicator", numbers[adjudicator.value])
        _put_number(node, "raters", 1)
    return yaml.serialize(node, Dumper=yaml.SafeDumper, allow_unicode=True, width=10_000)


def _put_number(node: yaml.Node | None, name: str, number: int) -> None:
    """Let *number* stand under *name* in the mapping *node*."""
    assert isinstance(node, yaml.MappingNode)
    new = yaml.ScalarNode("tag:yaml.org,2002:int", str(number))
    node.value = [(key, new if key.value == name else value) for key, value in node.value]


def _value(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """Return the node under the key *name* in the mapping *node*; None if there is none."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in pairs if key.value == name), None)


PRESETS: Mapping[str, Callable[..., Preset]] = {
    "mahueval": MaHuEval,
    "convqa": ConvQA,
    "rating": Rating,
    "compare": Compare,
    "drift": DriftStudy,
    "wording": WordingStudy,
}
"""What makes each of its settings."""
