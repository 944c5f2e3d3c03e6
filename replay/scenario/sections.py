"""
The scenario file: what to replay, against which systems, under which policies, scored how.

Checked as a whole: a scenario reports all its faults at once, each with its line and key path. What
belongs to a plug-in (``settings``) is checked against the plug-in itself by ``replay.scenario.assembly``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from replay.core.errors import Fault, ScenarioError
from replay.core.settings.confinement import confined_to, is_outside_allowed
from replay.core.settings.faults import faults_of
from replay.core.settings.prices import Prices
from replay.core.settings.yaml_lines import Lines, parse
from replay.play.load.section import LoadSection
from replay.scenario.assertions.section import Assertion
from replay.scenario.secret_detection import secret_faults


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class DataSection(_Section):
    """Which conversations."""

    path: str | tuple[str, ...]
    """A file or glob pattern, or several, relative to the scenario's folder."""
    format: str | None = None
    """A reader's name; found out where that is safe when left out."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The reader's settings."""
    limit: int | None = Field(default=None, ge=1)
    """Conversations at most, the first ones in file order."""
    skip_bad: bool = False
    """Skip, count and report conversations that can't be read, instead of stopping."""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if isinstance(self.path, str) else self.path


class LimitSection(_Section):
    """A system's politeness limit."""

    asks: int = Field(ge=1)
    per_s: float = Field(gt=0)


class SystemSection(_Section):
    """A system under test."""

    name: str = Field(min_length=1)
    adapter: str
    settings: dict[str, Any] = Field(default_factory=dict)
    limit: LimitSection | None = None
    prices: Prices | None = None
    """What it charges; as the scenario's table says for its ``model`` when left out."""
    keep_raw: bool | None = None
    """Keep its replies as they came; as ``play.keep_raw`` says when left out."""


class Choice(_Section):
    """A plug-in by name, with settings; written as ``name`` or ``{name: {setting: value}}``."""

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """
        How it is called in records and tables: ``replace``, ``replace(always=True)``.

        Of a plug-in among the settings the name alone: ``rewrite(rewriter=llm)``.
        """
        if not self.settings:
            return self.name
        shown = {
            key: next(iter(value)) if isinstance(value, Mapping) and len(value) == 1 else value
            for key, value in self.settings.items()
        }
        return f"{self.name}({','.join(f'{key}={value}' for key, value in shown.items())})"


def _choice(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, settings),) = value.items()
        if isinstance(name, str) and (settings is None or isinstance(settings, Mapping)):
            return {"name": name, "settings": settings or {}}
    if isinstance(value, (Choice, Mapping)) and (
        isinstance(value, Choice) or set(value) == {"name", "settings"}
    ):
        return value
    raise ValueError("a name, or {name: {setting: value}}, is expected here")


PluginChoice = Annotated[Choice, BeforeValidator(_choice)]


class SemanticSection(_Section):
    """How alike answers are in meaning, with sentence-transformers: recorded beside each verdict."""

    model: str | None = None
    """A name on the Hugging Face hub or a local directory; all-MiniLM-L6-v2 when left out."""
    min_similarity: float | None = Field(default=None, ge=-1, le=1)
    """Below which likeness of the previous answers a question is invalid, whatever its mentions."""


class DriftSection(_Section):
    """How drift is judged."""

    resolver: str = "embedded"
    settings: dict[str, Any] = Field(default_factory=dict)
    window: int = Field(default=2, ge=0)
    background: bool = True
    mode: Literal["strict", "hard", "evalconvqa"] = "strict"
    threshold: float | None = Field(default=None, ge=0, le=1)
    """From which probability on ``strict`` calls a question drifted; the rule's own when left out."""
    match: Literal["f1", "em"] = "f1"
    """What ``evalconvqa`` compares: words of antecedents, or whole questions with mentions replaced."""
    semantic: SemanticSection | None = None
    nlp_workers: int = Field(default=1, ge=0, le=64)
    """Worker processes; 0 resolves in the main process, which disturbs the latencies."""


class PlaySection(_Section):
    """How conversations are played."""

    concurrency: int = Field(default=8, ge=1)
    """Conversations at a time."""
    timeout_s: float = Field(default=60.0, gt=0)
    attempts: int = Field(default=4, ge=1)
    backoff_s: float = Field(default=0.5, ge=0)
    retry_budget_s: float = Field(default=60.0, ge=0)
    on_failure: Literal["stop", "gold"] = "stop"
    stop_after: int | None = Field(default=None, ge=1)
    """Stop the run after as many failed asks of one system in a row; it can be resumed."""
    fail_fast: bool = True
    """Stop the run at once where a system refuses our key (401, 403) before it answered anything."""
    durability: Literal["process", "power"] = "process"
    keep_raw: bool = False
    """Keep replies as they came beside the answers taken from them; a system may say otherwise."""
    raw_limit_bytes: int = Field(default=1024 * 1024, ge=1)
    """What is longer is cut."""


class Scenario(_Section):
    """A whole scenario file."""

    name: str = Field(min_length=1, max_length=100)
    data: DataSection
    systems: tuple[SystemSection, ...] = Field(min_length=1)
    policies: tuple[PluginChoice, ...] = Field(min_length=1)
    scorers: tuple[PluginChoice, ...] = (
        Choice(name="em"),
        Choice(name="f1"),
        Choice(name="bleu1"),
        Choice(name="rouge_l"),
    )
    judges: tuple[PluginChoice, ...] = ()
    """Asked after scoring; ``replay.scenario.judge_section`` says what an entry may hold."""
    drift: DriftSection = DriftSection()
    play: PlaySection = PlaySection()
    load: LoadSection | None = None
    """A load run: conversations again and again, for as long and as many at a time as is said here."""
    prices: Path | None = None
    """A file with a table of prices by model, for systems and judges; relative to the scenario's folder."""
    seed: int = 0
    """For retry jitter, bootstrap resamples and a load's arrivals."""
    repeats: int = Field(default=1, ge=1)
    """Runs that ``replay run`` plays, for the spread between them; each is a run of its own."""
    assertions: tuple[Assertion, ...] = Field(default=(), alias="assert")
    """What has to hold of the run's numbers, or ``run`` and ``report`` end with 100."""
    not_secret: tuple[str, ...] = ()
    """Key paths of what looks like a key and is none, as in ``systems[0].settings.headers.X-Key``."""

    @field_validator("name")
    @classmethod
    def _fit_for_a_folder(cls, name: str) -> str:
        if not re.fullmatch(r"[\w.-]+( [\w.-]+)*", name):
            raise ValueError(
                "letters, digits, spaces and . - _ are allowed, since the run's folder is named for it"
            )
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A scenario with where it came from."""

    scenario: Scenario
    text: str
    """As written; kept in the run."""
    source: str
    """The file's path, for messages."""
    folder: Path
    """What relative paths start from."""
    lines: Lines
    confined: bool = False
    """What it names has to lie below its folder."""
    allowed: frozenset[Path] = frozenset()
    """Files that were named by whoever runs it, and so may lie anywhere."""


def read_scenario(path: Path, *, allow_outside: bool = False) -> ScenarioFile:
    """
    Read the scenario file at *path*; what it names has to lie below its folder, or anywhere if allowed.

    Raises:
        ScenarioError: it can't be read or has faults; all of them at once, those of plug-in settings
            included.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ScenarioError(str(path), [Fault(path="", message=f"can't be read: {reason}")]) from error
    confined = not (allow_outside or is_outside_allowed())
    return parse_scenario(text, source=str(path), folder=path.resolve().parent, confined=confined)


def parse_scenario(text: str, *, source: str, folder: Path, confined: bool = False) -> ScenarioFile:
    """
    The scenario in *text*; *source* names it in messages, *folder* is what its paths start from.

    Raises:
        ScenarioError: it has faults; all of them at once.
    """
    value, lines, faults = parse(text)
    if not faults and not isinstance(value, Mapping):
        faults.append(Fault(path="", message="a scenario is a mapping with name, data, systems and policies"))
    if not isinstance(value, Mapping):
        raise ScenarioError(source, faults)
    not_secret = value.get("not_secret")
    secrets, value = secret_faults(value, text, not_secret if isinstance(not_secret, list) else ())
    faults += secrets
    try:
        scenario = Scenario.model_validate(value)
    except ValidationError as error:
        from replay.scenario.assembly import settings_faults  # assembly builds what this module describes

        faults += faults_of(error, Scenario, value, "")
        with confined_to(folder if confined else None):
            faults += settings_faults(value, folder)
        raise ScenarioError(source, located(faults, lines)) from error
    if faults:
        raise ScenarioError(source, located(faults, lines))
    return ScenarioFile(
        scenario=scenario, text=text, source=source, folder=folder, lines=lines, confined=confined
    )


def located(faults: list[Fault], lines: Lines) -> list[Fault]:
    """*faults* with their lines, in file order."""
    with_lines = [
        fault if fault.line else Fault(path=fault.path, message=fault.message, line=lines.of(fault.path))
        for fault in faults
    ]
    return sorted(with_lines, key=lambda fault: fault.line or 0)


def with_section(
    file: ScenarioFile, section: str, changes: Mapping[str, Any], *, allowed: Iterable[Path] = ()
) -> ScenarioFile:
    """
    *file* with *changes* to one of its sections, in the text as well, so that a run keeps what it was.

    *allowed* are files in the changes that may lie anywhere, since it is the caller who names them.

    Raises:
        ScenarioError: the changes don't fit.
    """
    import yaml

    content = yaml.safe_load(file.text)
    content[section] = {**(content.get(section) or {}), **changes}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    changed = parse_scenario(text, source=file.source, folder=file.folder, confined=file.confined)
    return replace(changed, allowed=file.allowed | frozenset(allowed))


def read_choices(texts: Sequence[str], option: str) -> list[Choice]:
    """
    Plug-in choices from a command line, each written as in a scenario: a name or a YAML mapping.

    Raises:
        ScenarioError: a text is neither.
    """
    choices = []
    for text in texts:
        value, _, faults = parse(text)
        try:
            choices.append(Choice.model_validate(_choice(value)))
        except (ValidationError, ValueError):
            expected = "a name, or {name: {setting: value}}, is expected"
            faults = faults or [Fault(path=text, message=expected)]
        if faults:
            raise ScenarioError(option, faults)
    return choices
