"""
Sections that a scenario may leave out: ``cluster``, ``recorded``, ``telemetry`` and ``tools``.

The ``cluster`` section: which nodes of Ray play it.

The section ``recorded``: each answer held against the one that was recorded.

The ``telemetry`` section of a scenario: what OpenTelemetry learns of its runs.

The section ``tools``: what the calls of tools that systems answer with come to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import BeforeValidator, Field, field_validator

from replay.core.settings.choice import Count, PositiveSeconds, Section, at_most
from replay.core.settings.faults import nearest
from replay.core.trace_ids import RunTraces

if TYPE_CHECKING:
    from replay.scorers.judges.judge import Judge


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


def check_recorded(
    section: RecordedSection | None,
    pairwise: Sequence[str],
    judges: Collection[str],
    fault: Callable[[str, str], None],
) -> None:
    """
    Tell *fault* where *section* doesn't say which judge is meant.

    Args:
        section: None without one.
        pairwise: The names of the judges of that type.
        judges: The names of all.
        fault: Takes a key path and a message.
    """
    if section is None:
        return
    if section.judge is None and len(pairwise) > 1:
        fault("recorded.judge", f"say which of the pairwise judges counts ({', '.join(pairwise)})")
    elif section.judge is not None and section.judge not in pairwise:
        known = f"the scenario's: {', '.join(pairwise) or 'none'}"
        kind = "no judge of the type pairwise" if section.judge in judges else "no judge"
        fault("recorded.judge", f'"{section.judge}" is {kind}{nearest(section.judge, pairwise)} ({known})')


def is_pairwise(judge: Judge) -> bool:
    """Return whether *judge* compares two answers."""
    from replay.scorers.judges.pairwise import PairwiseJudge

    return isinstance(judge, PairwiseJudge)


SAMPLE_UNDER_LOAD = 0.01
NEEDED = 'sending spans takes OpenTelemetry\'s SDK: pip install "convreplay[otel]"'


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


class Traced(Protocol):
    """What of a scenario decides on its traces."""

    @property
    def telemetry(self) -> TelemetrySection | None: ...

    @property
    def load(self) -> object | None: ...


def sample_of(scenario: Traced) -> float:
    """Return the share of *scenario*'s conversations that are traced, in [0, 1]."""
    section = scenario.telemetry
    if section is not None and section.sample is not None:
        return section.sample
    return SAMPLE_UNDER_LOAD if scenario.load else 1.0


def traces_of(scenario: Traced, run: str) -> RunTraces | None:
    """Return the traces that the requests of *run* belong to; None if *scenario* sends no ``traceparent``."""
    section = scenario.telemetry
    return None if section is None or not section.traceparent else RunTraces(run, sample_of(scenario))


def telemetry_addresses(scenario: Traced) -> list[str]:
    """Return the endpoints that *scenario*'s spans are sent to, from its settings or the environment."""
    section = scenario.telemetry
    if section is None:
        return []
    if section.endpoint is not None:
        return [section.endpoint]
    variables = ("", "TRACES_")
    found = (os.environ.get(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT") for kind in variables)
    return [address for address in found if address]


def check_telemetry(scenario: Traced, folder: Path, fault: Callable[[str, str], None]) -> None:
    """Return whether what *scenario* says of telemetry can be done here."""
    section = scenario.telemetry
    if section is None or not (section.file or telemetry_addresses(scenario)):
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        fault("telemetry", f"{NEEDED}; without endpoint and file, asks are traced all the same")
    if section.file is not None and not (folder / section.file).parent.is_dir():
        fault("telemetry.file", f'there is no folder "{section.file.parent}"; make it, or name another one')


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


def tools_of(scenario: Any) -> Iterator[tuple[str, str, ToolsSection]]:
    """Yield each section ``tools`` of *scenario* (a ``Scenario``), as (label, key path, section)."""
    if scenario.tools:
        yield "tools", "tools", scenario.tools
    for index, system in enumerate(scenario.systems):
        if system.tools:
            yield f"system {system.name}", f"systems[{index}].tools", system.tools
