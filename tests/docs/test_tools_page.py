"""What docs/tools.md shows can be written as it stands there, and comes to what it says."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from replay.core.safety.consent import code_may_run
from replay.runs.launch import load_scenario, run_async
from replay.scenario.assembly import try_assemble
from replay.scenario.sections import ToolsSection
from tests.docs.shown_output import blocks, page

PAGE = page("tools")
(TOOLS,) = (yaml.safe_load(one) for one in blocks(PAGE, "yaml"))
(FUNCTION,) = re.findall(r"```python\n# tools.py\n(.*?)```", PAGE, re.DOTALL)
MISSING = yaml.safe_load(re.findall(r"`(missing: \{.*?)`", PAGE)[0])
BOT = """
from replay import ChatReply, ToolCall

def bot(request):
    if request.steps:
        return request.steps[-1].text
    return ChatReply(text="", tool_calls=(ToolCall(id="1", name="find_order", arguments=request.question),))
"""


def scenario(tools: object) -> dict[str, object]:
    return {
        "name": "tools",
        "data": {"path": "talk.jsonl"},
        "systems": [{"name": "bot", "adapter": "python", "settings": {"target": "bot.py:bot"}}],
        "policies": ["gold"],
        "tools": tools,
    }


@pytest.mark.parametrize(
    ("tools", "asked", "answer"),
    [
        (TOOLS["tools"], '{"order_id": "40172"}', '{"item": "copper kettle", "price": 39.0}'),
        ({"function": "tools.py:answer"}, '{"order_id": "7"}', '{"order_id": "7", "status": "packing"}'),
        (MISSING, "{}", '{"error": "no such thing"}'),
    ],
)
async def test_results_come_from_where_the_page_says(tmp_path, monkeypatch, tools, asked, answer):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.py").write_text(BOT)
    (tmp_path / "tools.py").write_text(FUNCTION)
    (tmp_path / "talk.jsonl").write_text(f'{{"id": "t", "turns": [{{"question": {json.dumps(asked)}}}]}}\n')
    (record,) = (await run_async(scenario(tools), runs=tmp_path / "runs")).records()

    assert (record.outcome, record.answer) == ("answered", answer)


def test_every_key_of_the_section_is_on_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.jsonl").write_text('{"id": "t", "turns": [{"question": "Why?"}]}\n')
    (tmp_path / "bot.py").write_text(BOT)
    with code_may_run():
        assert try_assemble(load_scenario(scenario(TOOLS["tools"])))[1] == []
    assert not [key for key in ToolsSection.model_fields if not re.search(rf"`{key}\b|\n  {key}:", PAGE)]
