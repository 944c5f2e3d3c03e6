"""The page on adapters: what it shows can be pasted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from replay import Adapter, ChatRequest, Conversation, Exchange, Passage
from replay.plugins import available, build, load
from tests.contracts.adapter_contract import entered

PAGE = (Path(__file__).parents[1] / "docs" / "adapters.md").read_text(encoding="utf-8")
SYSTEMS = [
    system
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for system in yaml.safe_load(block)["systems"]
]


def _built(system: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Adapter:
    for name in ("OPENAI_API_KEY", "BOT_TOKEN"):
        monkeypatch.setenv(name, "a-key")
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (folder / "my_system.py").write_text(program, encoding="utf-8")
    factory = load("adapters", system["adapter"], folder)
    made = build(factory, system.get("settings", {}), folder=folder)
    assert isinstance(made, Adapter)
    return made


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: f"{system['adapter']}: {system['name']}")
def test_each_system_shown_can_be_built(
    system: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _built(system, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("my chain", ["1 answers and 1 passages later: Q?"] * 2),
        ("my agent", ["That was question 1.", "That was question 2."]),
        ("rehearsal", ["I don't know."] * 2),
        ("extractive", ["CANNOTANSWER"] * 2),
    ],
)
async def test_the_systems_shown_that_need_no_server_answer(
    name: str, answers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (system,) = [system for system in SYSTEMS if system["name"] == name]
    adapter = _built(system, tmp_path, monkeypatch)
    talk = Conversation(id="c", turns=(), passages=(Passage(id="p", text="One."),))
    request = ChatRequest(question="Q?", history=(Exchange(question="A?", answer="A."),), depth=1)

    async with entered(adapter), adapter.session(talk) as session:
        assert [(await session.ask(request)).text for _ in range(2)] == answers


@pytest.mark.parametrize("name", available("adapters"))
def test_each_adapter_has_a_section_that_names_all_its_settings(name: str, tmp_path: Path) -> None:
    from replay.plugins import settings_model

    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    settings = settings_model(load("adapters", name, tmp_path), provided=("folder",)).model_fields
    assert [setting for setting in settings if f"| `{setting}` |" not in section] == []
