"""
The scenario file: what to replay, against which systems, under which policies, scored how.

Checked as a whole: a scenario reports all its faults at once, each with its line and key path. What
belongs to a plug-in (``settings``) is checked against the plug-in itself by ``replay.scenario.assembly``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from replay.core.asking.costs import Prices
from replay.core.settings.choice import (
    Attempts,
    Choice,
    Count,
    LimitSection,
    PluginChoice,
    PositiveSeconds,
    Processes,
    Seconds,
    Section,
    Together,
    at_most,
)
from replay.core.trace_ids import RunTraces
from replay.play.load.section import LoadSection
from replay.scenario.assertions.section import Assertion


class DataSection(Section):
    """Which conversations."""

    path: str | tuple[str, ...]
    """A file or glob pattern, or several, relative to the scenario's folder."""
    format: str | None = None
    """A reader's name; found out where that is safe when left out."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The reader's settings."""
    limit: int | None = Field(default=None, ge=1)
    """Conversations at most, the first ones in file order."""
    ask: Literal["all", "last"] = "all"
    """``last``: only each conversation's last turn, after the history as it was recorded."""
    skip_bad: bool = False
    """Skip, count and report conversations that can't be read, instead of stopping."""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if isinstance(self.path, str) else self.path


class ListedResultSection(Section):
    """What some calls of one tool come to."""

    name: str = Field(min_length=1)
    """The tool's name."""
    arguments: Any = "any"
    """A JSON value; ``any`` for whatever they are."""
    result: Any
    """A text, or a JSON value that is given as JSON text."""


class MissingSection(Section):
    """In the place of a result that is not known."""

    result: Any
    """A text, or a JSON value that is given as JSON text."""


def _check_missing(value: Any) -> Any:
    """
    Raises:
        ValueError: *value* is none of what may become of a call that nobody knows.
    """
    if value == "error" or isinstance(value, Mapping | MissingSection):
        return value
    raise ValueError(
        "error, for a failed turn, or {result: ...}, which all such calls come to, is expected here"
    )


class ToolsSection(Section):
    """Who knows results, asked in this order: ``results``, ``function``, the conversation itself."""

    results: tuple[ListedResultSection, ...] | str = ()
    """Or a file of JSON Lines with the same fields, relative to the scenario's folder."""
    match: Literal["subset", "exact"] = "subset"
    """Whether arguments fit that have more keys than the listed ones."""
    function: str | None = None
    """``file.py:function`` or ``module:function``, called with the tool's name and its arguments."""
    recorded: bool = True
    """Whether the results that the conversation was recorded with count."""
    missing: Annotated[Literal["error"] | MissingSection, BeforeValidator(_check_missing)] = "error"
    """What comes of a call that nobody knows: a failed turn, or the ``result`` given here."""
    max_steps: Annotated[int, Field(ge=1), at_most(1_000, "after so many a system goes in circles")] = 10
    """Asks of one turn at most."""
    timeout_s: PositiveSeconds = 300.0
    """For one turn with all its asks and calls; each ask has ``play.timeout_s``."""


class SystemSection(Section):
    """A system under test."""

    name: str = Field(min_length=1)
    """What it is called in tables."""
    adapter: str
    """How it is reached: an installed adapter's name, ``module:attribute`` or ``file.py:attribute``."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The adapter's settings."""
    limit: LimitSection | None = None
    prices: Prices | None = None
    """What it charges; as the scenario's table says for its ``model`` when left out."""
    tools: ToolsSection | Literal[False] | None = None
    """In the place of the scenario's ``tools``; false for none."""
    keep_raw: bool | None = None
    """Keep its replies as they came; as ``play.keep_raw`` says when left out."""
    cache: bool | None = None
    """false asks it every time, whatever ``play.cache`` says."""
    sessions: Literal["recorded", "one"] = "recorded"
    """Of a system that keeps sessions itself: a new one wherever the data begin a session, or one in all."""


class SemanticSection(Section):
    """How alike answers are in meaning, with sentence-transformers: recorded beside each verdict."""

    model: str | None = None
    """A name on the Hugging Face hub or a local directory; all-MiniLM-L6-v2 when left out."""
    min_similarity: float | None = Field(default=None, ge=-1, le=1)
    """Below which likeness of the previous answers a question is invalid, whatever its mentions."""


def _window(*, resolver: str = "", mode: str = "", **_: Any) -> int | None:
    if resolver == "llm":
        return None
    return 2 if mode == "evalconvqa" else 6


class DriftSection(Section):
    """How drift is detected."""

    resolver: str = "embedded"
    """What reads the questions: an installed resolver, ``module:attribute`` or ``file.py:attribute``."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The resolver's settings."""
    background: Literal[True, False, "alone"] = True
    """Whether the resolver reads title, section and background text, or the text ``alone``."""
    mode: Literal["strict", "hard", "evalconvqa"] = "strict"
    """The rule that makes the verdict: a learned probability, a comparison mention by mention, or that of the
    published program."""
    window: int | None = Field(default_factory=lambda known: _window(**known), ge=0)
    """Exchanges before a question that are read; null is all. Left out, it is 6; under ``evalconvqa`` 2, as
    in the published program; with a model all that fit its budget."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """From which probability on ``strict`` calls a question drifted; the rule's own when left out."""
    match: Literal["f1", "em"] = "f1"
    """What ``evalconvqa`` compares: words of antecedents, or whole questions with mentions replaced."""
    skip_entity: bool = True
    """Whether ``evalconvqa`` passes over mentions that are capitalised entities, as the published runs do."""
    semantic: SemanticSection | None = None
    nlp_workers: Annotated[int, Field(ge=0), Processes] = 1
    """Worker processes, each with a core; 0 resolves in the main process, which disturbs the latencies."""
    load_sample: Annotated[int, Field(ge=1)] | None = 10_000
    """Of a load run, how many turns under policies that ask the same whatever the verdict get one, drawn by
    the seed; null for all."""
    timeout_s: float = Field(default=300.0, gt=0)
    """For a batch of questions; a worker process that takes longer is replaced."""


Workers = Annotated[int, Field(ge=1), Processes] | Literal["auto"]


class PlaySection(Section):
    """How conversations are played."""

    concurrency: Together = 8
    """Conversations at a time."""
    workers: Workers = 1
    """Processes that play, ``concurrency`` shared among them; 1 is this one, ``auto`` one for each core."""
    timeout_s: PositiveSeconds = 60.0
    """For each attempt of a question."""
    attempts: Attempts = 4
    """Attempts at most, the first included, after failures that may pass; left out, 1 under load."""
    backoff_s: Seconds = 0.5
    """The longest pause before the second attempt, drawn from 0 on; doubled each time."""
    retry_budget_s: Seconds = 60.0
    """No attempt starts later than this after the first failure, whatever ``Retry-After`` asks."""
    on_failure: Literal["stop", "gold"] = "stop"
    """What follows a failed turn: its conversation ends, or goes on with the gold answer in the history."""
    repeats: Annotated[int, Field(ge=1), at_most(100, "pass^k is worked out for each k up to it")] = 1
    """Plays of each conversation within the run, each with a session of its own."""
    seed_per_repeat: bool = False
    """Send the systems that take one a seed, another for each repeat; it follows from ``seed``."""
    stop_after: int | None = Field(default=None, ge=1)
    """Stop the run after as many failed asks of one system in a row; it can be resumed."""
    fail_fast: bool = True
    """Stop the run at once where a system refuses our key (401, 403) before it answered anything."""
    durability: Literal["process", "power"] = "process"
    """What a finished turn outlives: a killed process, or also a power cut: a disk sync for each commit."""
    keep_raw: bool = False
    """Keep replies as they came beside the answers taken from them; a system may say otherwise."""
    raw_limit_bytes: Annotated[int, Field(ge=1), at_most(500_000_000, "SQLite keeps no larger value")] = (
        1024 * 1024
    )
    """What is longer is cut."""
    cache: Path | None = None
    """A folder, relative to the scenario's, where answers are kept: the same request is not asked again."""


_ADDRESS = re.compile(r"(ray://)?([^\s:/]+|\[[0-9A-Fa-f:]+\]):\d{1,5}")


class ScoringSection(Section):
    """How scorers that have a model observe are spread over the nodes, by Ray Data."""

    actors: Count | None = None
    """Each loads the models; left out, one for each node that has what an actor takes."""
    batch: Count = 256
    """Turns, at least, that an actor is given at a time; whole plays of conversations."""
    cpus: float = Field(default=1.0, ge=0, le=1000)
    """Of Ray's CPUs, for each actor; its model has as many threads."""
    gpus: float = Field(default=0.0, ge=0, le=1000)
    """Of Ray's GPUs, for each actor: with 0.5 two of them share one."""


class ClusterSection(Section):
    """Nodes that play in the place of this machine."""

    address: str = "auto"
    """Where the cluster is: ``auto`` for that of ``RAY_ADDRESS`` or of this machine, ``ray://HOST:10001``
    from outside of it, ``HOST:6379`` from within."""
    per_node: int = Field(default=1, ge=1, le=1000)
    """Actors on each node, each with an event loop of its own."""
    cpus: float = Field(default=1.0, ge=0, le=1000)
    """Of Ray's CPUs, for each actor."""
    resources: dict[str, float] = Field(default_factory=dict)
    """Of Ray's own resources, for each actor, as in ``{bot: 1}``: it is only on nodes that have them."""
    files: tuple[str, ...] = ()
    """More files and folders (patterns too), relative to the scenario's folder, that code on the nodes reads
    and that no setting names."""
    lost_sessions: Literal["restart", "abandon"] = "restart"
    """What becomes of a conversation that a lost node was playing with a system that keeps the history:
    ``restart``: it begins anew elsewhere, its earlier turns are put aside; ``abandon``: it ends there with
    the outcome ``lost``, so that nothing is asked twice."""
    scoring: ScoringSection = ScoringSection()
    wait_s: PositiveSeconds = 60.0
    """How long to wait for a node where there is none, before the run is stopped; and for room on one that
    others use."""

    @field_validator("address")
    @classmethod
    def _names_a_cluster(cls, address: str) -> str:
        if address != "auto" and not _ADDRESS.fullmatch(address):
            raise ValueError(
                f'"{address}" is no address of a cluster: auto, ray://HOST:10001 or HOST:6379 is expected'
            )
        return address


SAME_FROM = 0.5
"""Chosen where `benchmarks/same_answers.py` tells answers that say the same from others well."""
BAD_ANSWERS = "bad_answers"
"""The key of a conversation's metadata with the depths of recorded answers that are known to be bad."""
BAD_CONVERSATION = "bad_conversation"
"""The key of a conversation's metadata with the reason why none of its recorded answers is a reference."""


class RecordedSection(Section):
    """Whether each answer is better or worse than the recorded one, or the same, or differs."""

    same_from: Annotated[float, Field(gt=0, le=1)] = SAME_FROM
    """Two answers whose figures, names and denials agree say the same from this F1 of other words on."""
    judge: str | None = None
    """The judge of the type ``pairwise`` that says which answer is better; the only one when left out."""
    score: Literal["f1", "rouge_l", "fuzzy"] | None = None
    """The score by which both answers are held against the turn's other gold answers; none when left out."""
    margin: Annotated[float, Field(gt=0, le=1)] = 0.3
    """By how much that score has to be higher for the better answer."""


class TelemetrySection(Section):
    """Where spans go, of which conversations, and with what in them."""

    endpoint: str | None = None
    """A collector's address for OTLP over HTTP, as in ``http://localhost:4318``. Left out, that of
    ``OTEL_EXPORTER_OTLP_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT``, where they are set."""
    file: Path | None = None
    """A file, relative to the scenario's folder, to whose end they are written as a collector's file
    exporter does: OTLP as JSON, an export a line."""
    sample: float | None = Field(default=None, ge=0, le=1)
    """Share of the conversations; left out, all of them, and under load one in a hundred."""
    content: bool = False
    """Questions, answers, errors and explanations as well."""
    traceparent: bool = True
    """Each ask tells the system its place in the trace."""

    @field_validator("endpoint")
    @classmethod
    def _can_be_sent_to(cls, endpoint: str | None) -> str | None:
        if endpoint is not None and not endpoint.startswith(("http://", "https://")):
            raise ValueError(f'"{endpoint}" is no address of OTLP over HTTP, as in http://localhost:4318')
        return endpoint


class Scenario(Section):
    """A whole scenario file."""

    name: str = Field(min_length=1, max_length=100)
    """What its runs' folders are named for."""
    data: DataSection
    systems: tuple[SystemSection, ...] = Field(min_length=1)
    """The systems under test; each plays every conversation under every policy."""
    policies: tuple[PluginChoice, ...] = Field(min_length=1)
    """Which history a system sees, and in which words it is asked: ``gold``, ``pred``, ``rewrite`` and
    others. Each takes ``history`` among its settings, a cut of what is shown."""
    scorers: tuple[PluginChoice, ...] = (
        Choice(name="em"),
        Choice(name="f1"),
        Choice(name="bleu1"),
        Choice(name="rouge_l"),
    )
    """The metrics of each turn's answer."""
    judges: tuple[PluginChoice, ...] = ()
    """Models that judge answers, asked after scoring. An entry has the keys below, and its judge's own."""
    recorded: RecordedSection | None = None
    """Whether each answer is better or worse than the recorded one, the same, or differs; not asked when left
    out."""
    drift: DriftSection = DriftSection()
    tools: ToolsSection | None = None
    """What becomes of calls of tools; without it a reply that calls one is a failed turn."""
    play: PlaySection = PlaySection()
    cluster: ClusterSection | None = None
    """The nodes of Ray that play it; left out, it is played on this machine."""
    telemetry: TelemetrySection | None = None
    """Spans of OpenTelemetry: where they go, and whether a system's own traces join them."""
    load: LoadSection | None = None
    """A load run: conversations again and again, for as long and as many at a time as is said here."""
    prices: Path | None = None
    """A file with a table of prices by model, for systems and judges; relative to the scenario's folder."""
    seed: Annotated[int, Field(ge=0), at_most(2**63 - 1, "that is the largest 64-bit integer")] = 0
    """For retry jitter, bootstrap resamples and a load's arrivals."""
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


SAMPLE_UNDER_LOAD = 0.01


def sample_of(scenario: Scenario) -> float:
    """Return the share of *scenario*'s conversations that are traced, in [0, 1]."""
    section = scenario.telemetry
    if section is not None and section.sample is not None:
        return section.sample
    return SAMPLE_UNDER_LOAD if scenario.load else 1.0


def traces_of(scenario: Scenario, run: str) -> RunTraces | None:
    """Return the traces that the requests of *run* belong to; None if *scenario* sends no ``traceparent``."""
    section = scenario.telemetry
    return None if section is None or not section.traceparent else RunTraces(run, sample_of(scenario))


def telemetry_addresses(scenario: Scenario) -> list[str]:
    """Return the endpoints that *scenario*'s spans are sent to, from its settings or the environment."""
    section = scenario.telemetry
    if section is None:
        return []
    if section.endpoint is not None:
        return [section.endpoint]
    variables = ("", "TRACES_")
    found = (os.environ.get(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT") for kind in variables)
    return [address for address in found if address]
