"""``telemetry``: each key played where it matters."""

from __future__ import annotations

import pytest

from replay.core.errors import ScenarioError
from replay.results import telemetry
from replay.scenario import optional_sections
from tests.adapters.servers import answering
from tests.data_tables import from_table
from tests.runs.test_traceparent import Listening
from tests.scenario.keys import key, played, python, talk


@key("telemetry.sample")
@pytest.mark.parametrize("load", [None, {"conversations": 60}])
async def test_whole_conversations_are_sampled_under_load_one_in_a_hundred(tmp_path, load):
    """Who isn't in the sample says so, or servers would begin traces of their own."""
    bot = python(tmp_path, "def answer(request): return request.traceparent")
    for section, low, high in (({}, *((0, 12) if load else (120, 120))), ({"sample": 0.5}, 24, 96)):
        more = {"load": load} if load else {}
        talks = [talk(f"t{n}", 2) for n in range(60)]
        run = await played(tmp_path, talks=talks, system=bot, telemetry=section, **more)
        flags = {}
        for record in run.records():
            flags.setdefault(record.conversation, []).append(str(record.answer)[-2:])
        assert all(first == second for first, second in flags.values())
        assert low <= sum(flag == "01" for both in flags.values() for flag in both) <= high


@key("telemetry.traceparent")
async def test_nothing_is_sent_unless_the_scenario_has_telemetry_that_does(tmp_path):
    server = Listening()
    async with answering(server.reply) as address:
        settings = {"base_url": f"{address}/v1", "model": "m"}
        for section in (None, {"traceparent": False}):
            await played(tmp_path, system={"adapter": "openai", "settings": settings}, telemetry=section)
    assert len(server.given) == 6
    assert {header for _, header in server.given} == {None}


@key("telemetry.endpoint", "telemetry.file", "telemetry.content")
async def test_spans_go_where_the_section_says_with_as_much_in_them(tmp_path, monkeypatch):
    """What they look like there is for tests/integrations/test_otel_delivery.py."""
    made = []

    def exporters(folder, export):
        made.append((export.endpoint, export.stream and export.stream.name, export.is_sent, export.content))
        return []

    monkeypatch.setattr(telemetry, "exporters", exporters)
    monkeypatch.setattr(optional_sections, "find_spec", lambda name: name)
    for section in ({"endpoint": "http://127.0.0.1:9"}, {"file": "spans.jsonl", "content": True}):
        await played(tmp_path, telemetry=section)
    assert made == [
        ("http://127.0.0.1:9", None, True, False),
        (None, str(tmp_path / "spans.jsonl"), False, True),
    ]


@from_table
async def test_a_section_that_can_not_work_is_a_fault(tmp_path, section, fault):
    with pytest.raises(ScenarioError, match=fault):
        await played(tmp_path, telemetry=section)


async def test_the_missing_extra_is_named_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(optional_sections, "find_spec", lambda _: None)
    with pytest.raises(ScenarioError, match=r"pip install .convreplay\[otel\]"):
        await played(tmp_path, telemetry={"endpoint": "http://127.0.0.1:9"})
    assert not (tmp_path / "runs").exists()
