"""The scenarios of docs/interop.md for agents and chat interfaces reach what speaks as those servers did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from replay import TurnRecord
from replay.runs.launch import run_async
from tests.adapters.servers import running
from tests.docs.interop_stand_ins import StandIns
from tests.docs.shown_output import blocks, page

PAGE = page("interop")
SHOWN = [
    text
    for text in blocks(PAGE, "yaml")
    if yaml.safe_load(text)["name"] not in ("gradio", "langserve", "langgraph")
]
TOKEN = "ya29.token-of-the-museum"
by_scenario = pytest.mark.parametrize("text", SHOWN, ids=lambda text: str(yaml.safe_load(text)["name"]))


async def _played(text: str, folder: Path, server: StandIns, *questions: str) -> list[TurnRecord]:
    """The records of a conversation with *questions* under ``pred``."""
    talk = {"id": "a", "turns": [{"question": question, "gold_answer": "Yes."} for question in questions]}
    (folder / "talks.jsonl").write_text(json.dumps(talk) + "\n", "utf-8")
    async with running(server.app()) as address:
        at_hand = re.sub(r"(http://127\.0\.0\.1:\d+|https://[a-z-]+\.googleapis\.com)", address, text)
        scenario: dict[str, Any] = yaml.safe_load(at_hand) | {
            "data": {"path": str(folder / "talks.jsonl")},
            "policies": ["pred"],
            "drift": {"nlp_workers": 0},
            "play": {"attempts": 1},
        }
        return list((await run_async(scenario, runs=folder / "runs")).records())


@by_scenario
async def test_a_conversation_comes_through_with_its_history_and_its_tools(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALOGFLOW_TOKEN", TOKEN)
    server = StandIns()
    records = await _played(text, tmp_path, server, "Where is it?", "When is it open?", "And then?")

    assert [record.answer and record.answer.replace("\n", " ") for record in records] == [
        "After 0 messages.",
        "After 2 messages.",
        "After 4 messages.",
    ]
    if "steps:" in text:
        call, result = records[1].steps
        assert [(one.name, one.parsed_arguments) for one in call.tool_calls] == [("hours", {"day": "Monday"})]
        assert "10 to 17" in result.text
        assert result.tool_call_id == call.tool_calls[0].id
    assert not any(record.steps for record in (records[0], records[2]))
    assert server.opened == set()
    for earlier, later in zip(server.ids, server.ids[1:], strict=False):
        assert later[: len(earlier)] == earlier
        assert len({*later}) == len(later)


@by_scenario
async def test_a_system_that_fails_is_told_as_such(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALOGFLOW_TOKEN", TOKEN)
    (record,) = await _played(text, tmp_path, StandIns(), "fail?")

    assert record.outcome != "answered"
    assert re.search("the archive is closed|Internal Error|execution failed", record.error or "")
