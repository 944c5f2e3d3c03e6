"""Where spans and events go: to a collector, by OTLP over HTTP, or to the end of a file."""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from threading import Thread
from typing import IO, Any, Protocol

import requests
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.util.re import parse_env_headers
from requests.adapters import HTTPAdapter

from replay.core.safety.redaction import keep_secret, redact

_VARIABLE = "OTEL_EXPORTER_OTLP_{}ENDPOINT"
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_{}TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
_TIMEOUT_S = 10.0
_HEADERS = (
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
)
_REASON = re.compile(
    r"Transient error (?:.*\[Errno -?\d+\] (?P<system>[^\"')]+)|(?P<said>.*) encountered while)"
    r"|code: (?P<code>\w+), reason: (?P<why>.*)"
)
_LOGGER = logging.getLogger("opentelemetry.exporter.otlp.proto.http")


class Destination(Protocol):
    """Takes spans and events, some at a time."""

    name: str
    """Where it is, for messages."""
    problem: str
    """Why the last ones were not taken."""

    def take_spans(self, spans: Sequence[ReadableSpan]) -> bool:
        """Send *spans*; return whether they have arrived."""
        ...

    def take_events(self, events: Sequence[ReadableLogRecord]) -> bool: ...

    def close(self) -> None: ...


class Collector:
    """A collector, or who takes what collectors do; timeout, headers and certificates as variables say."""

    def __init__(self, endpoint: str | None) -> None:
        """*endpoint* None: as ``OTEL_EXPORTER_OTLP_ENDPOINT`` and its like say."""
        for name in _HEADERS:
            for value in parse_env_headers(os.environ.get(name, ""), liberal=True).values():
                keep_secret(value)
        base = endpoint and endpoint.rstrip("/")
        # Whoever names an address for traces alone wants nothing else to go anywhere.
        takes_events = base or any(os.environ.get(_VARIABLE.format(kind)) for kind in ("", "LOGS_"))
        self._spans = OTLPSpanExporter(endpoint=base and f"{base}/v1/traces", session=_session())
        self._events = (
            OTLPLogExporter(endpoint=base and f"{base}/v1/logs", session=_session()) if takes_events else None
        )
        self._export: Future[bool] | None = None
        """The one under way."""
        self._is_closed = False
        self.name: str = endpoint or "the collector that OTEL_EXPORTER_OTLP_ENDPOINT names"
        self.problem: str = ""

    def take_spans(self, spans: Sequence[ReadableSpan]) -> bool:
        return self._take(lambda: self._spans.export(spans), _timeout_s("TRACES_"))

    def take_events(self, events: Sequence[ReadableLogRecord]) -> bool:
        exporter = self._events
        return exporter is None or self._take(lambda: exporter.export(events), _timeout_s("LOGS_"))

    def close(self) -> None:
        self._is_closed = True
        with self._listening():
            for exporter in (self._spans, self._events):
                if exporter is not None:
                    exporter.shutdown()
        if self._export is not None:
            self._export.cancel()

    def _take(self, export: Callable[[], Any], timeout_s: float) -> bool:
        """
        Return whether *export* did it within twice its own *timeout_s*, or before somebody closed this.

        The exporter's timeout is that of each byte, so a reply that drips in keeps it for ever: it then stays
        behind, in a thread that keeps no program from its end.
        """
        if self._is_closed:
            return False
        self._export = Future()
        Thread(target=self._run, args=[export, self._export], name="telemetry-export", daemon=True).start()
        try:
            return self._export.result(2 * timeout_s)
        except CancelledError:
            return False
        except TimeoutError:
            self.problem = f"it had not ended its reply after {2 * timeout_s:g} s"
            self.close()
            return False

    def _run(self, export: Callable[[], Any], taken: Future[bool]) -> None:
        with suppress(InvalidStateError), self._listening():  # nobody waits for it any more
            try:
                taken.set_result(export().name == "SUCCESS")
            except Exception as error:  # noqa: BLE001 - raised where it is waited for
                taken.set_exception(error)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Take the exporter's log messages in the block, so that they aren't printed amid our output."""
        handler = _Problems(self)
        _LOGGER.addHandler(handler)
        propagates, _LOGGER.propagate = _LOGGER.propagate, False
        try:
            yield
        finally:
            _LOGGER.propagate = propagates
            _LOGGER.removeHandler(handler)


def _timeout_s(kind: str) -> float:
    """Return the exporter's own limit for an export with its retries, of spans or events by *kind*."""
    for variable in _TIMEOUTS:
        with suppress(KeyError, ValueError):
            return float(os.environ[variable.format(kind)])
    return _TIMEOUT_S


def _session() -> requests.Session | None:
    """Return the HTTP session for an exporter; None if variables of OpenTelemetry configure its own."""
    if any(name.startswith("OTEL_PYTHON_EXPORTER_OTLP_HTTP") for name in os.environ):
        return None
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _StatusAlone())
    return session


class _StatusAlone(HTTPAdapter):  # type: ignore[misc]
    """Takes a reply's status for all of it: no exporter looks at the rest, which may have no end."""

    def send(
        self, request: requests.PreparedRequest, stream: bool = False, *args: Any, **more: Any
    ) -> requests.Response:
        response = super().send(request, True, *args, **more)
        response.close()
        response.raw = io.BytesIO()
        return response


class _Problems(logging.Handler):
    """Keeps why an export failed; that there were enough retries, which is logged at last, is no reason."""

    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self._collector = collector

    def emit(self, record: logging.LogRecord) -> None:
        if found := _REASON.search(record.getMessage()):
            self._collector.problem = redact(
                found["system"] or found["said"] or f"{found['why']} ({found['code']})"
            )


class JsonLinesFile:
    """As a collector's file exporter writes: OTLP as JSON, an export a line."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.name: str = str(getattr(stream, "name", "the file"))
        self.problem: str = ""

    def take_spans(self, spans: Sequence[ReadableSpan]) -> bool:
        return self._write(encode_spans(spans))

    def take_events(self, events: Sequence[ReadableLogRecord]) -> bool:
        return self._write(encode_logs(events))

    def close(self) -> None:
        """Do nothing: whoever opened the stream closes it."""

    def _write(self, message: Message) -> bool:
        line = json.dumps(_with_hex_ids(MessageToDict(message, use_integers_for_enums=True)))
        try:
            self._stream.write(line.encode() + b"\n")
            self._stream.flush()
        except BrokenPipeError:  # standard output, whose reader has seen enough
            raise
        except OSError as error:
            self.problem = error.strerror or str(error)
            return False
        return True


def _with_hex_ids(value: Any) -> Any:
    """Return *value* with ids as OTLP's JSON has them, where Protocol Buffers' own has base64."""
    if isinstance(value, list):
        return [_with_hex_ids(one) for one in value]
    if isinstance(value, dict):
        return {
            name: base64.b64decode(one).hex()
            if name in ("traceId", "spanId", "parentSpanId")
            else _with_hex_ids(one)
            for name, one in value.items()
        }
    return value
