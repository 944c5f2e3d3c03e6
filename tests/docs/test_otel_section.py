"""What docs/integrations.md shows of OpenTelemetry works as it stands there."""

from __future__ import annotations

import re

import pytest
import yaml

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason='needs pip install "convreplay[otel]"')

from replay.scenario.sections import TelemetrySection
from replay.scenario.shipped import example_scenario
from tests.adapters.servers import in_a_thread
from tests.cli.command import replay_cli
from tests.docs.shown_output import blocks, page, section
from tests.integrations.collecting import Collector, Result, Span
from tests.scenarios.support_bots import listening

PAGE = page("integrations")
SECTION = section(PAGE, "OpenTelemetry")


def tree(spans: list[Span], results: list[Result], parent: str = "", depth: int = 0) -> list[str]:
    """A line for each span below *parent*, and for the events that belong to it."""
    lines = []
    for span in sorted((one for one in spans if one.parent == parent), key=lambda one: one.begin):
        lines.append(f"{'  ' * depth}{span.name}")
        lines += tree(spans, results, span.id, depth + 1)
        for one in results:
            if one.span == span.id:
                name = one.attributes["gen_ai.evaluation.name"]
                found = one.attributes.get("gen_ai.evaluation.score.label")
                found = found or f"{one.attributes['gen_ai.evaluation.score.value']:g}"
                lines.append(f"{'  ' * (depth + 1)}{one.name}: {name} {found}")
    return lines


def test_the_example_gives_the_trace_that_is_shown(tmp_path):
    (command,) = re.findall(r"^replay (run .*) --otlp", SECTION, re.MULTILINE)
    (shown,) = blocks(SECTION, "text")
    collector = Collector()
    scenario, *_ = example_scenario("support", tmp_path / "support")
    with listening(scenario.parent, "worse") as port, in_a_thread(collector.running()) as address:
        scenario.write_text(scenario.read_text("utf-8").replace("8011", port), "utf-8")
        replay_cli(*command.split(), "--otlp", address, cwd=tmp_path)
    spans = [span for span in collector.spans if span.attributes["convreplay.repeat"] == 1]
    mine = {s.trace for s in spans if s.attributes["convreplay.conversation.id"] == "money-back"}
    found = tree([span for span in spans if span.trace in mine], collector.results)
    assert "\n".join(found).startswith(shown.rstrip())


def test_the_section_shown_has_all_keys_there_are():
    (shown,) = blocks(SECTION, "yaml")
    section = yaml.safe_load(shown)["telemetry"]
    assert section.keys() == TelemetrySection.model_fields.keys()
    TelemetrySection.model_validate(section)
    for key in TelemetrySection.model_fields:
        assert f"| `{key}` |" in SECTION
