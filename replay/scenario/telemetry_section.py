"""The ``telemetry`` section of a scenario: what OpenTelemetry learns of its runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from pydantic import Field, field_validator

from replay.core.settings.choice import Section
from replay.core.trace_ids import RunTraces

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
