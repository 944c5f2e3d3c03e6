"""The page on adapters: what it shows can be pasted."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from replay import (
    Adapter,
    AdapterConnectionError,
    AdapterReplyError,
    ChatRequest,
    Conversation,
    Exchange,
    Passage,
)
from replay.core.settings.plugins import available, build, load
from replay.results.run import Run, newest_run
from replay.testing import entered
from tests.adapters.servers import answering, unused_address
from tests.docs.shown_output import blocks, page
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("code_runs")

PAGE = page("adapters")


SYSTEMS = [system for block in blocks(PAGE, "yaml") for system in yaml.safe_load(block)["systems"]]
FILES = {
    block.splitlines()[0].removeprefix("# "): block
    for language in ("python", "toml")
    for block in blocks(PAGE, language)
}
"""Programs shown, by the file name in their first line."""
ELSEWHERE = {"chain": "langchain_openai", "engine": "llama_index"}
"""Systems that need a package of somebody else's, which is not installed for the tests."""
HARNESSES = {"lm-eval": "lm_eval"}
"""Adapters of models in other harnesses, by what they need."""


def _keys(settings: dict[str, Any]) -> list[str]:
    """The environment variables that *settings* name, in settings of settings as well."""
    below = [name for value in settings.values() if isinstance(value, dict) for name in _keys(value)]
    named = [value for setting, value in settings.items() if setting.endswith("_env")]
    texts = [text for value in named for text in (value.values() if isinstance(value, dict) else [value])]
    return below + [name for text in texts for name in re.findall(r"\$\{(\w+)\}", text) or [text]]


def _built(system: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Adapter:
    for name in _keys(system.get("settings", {})):
        monkeypatch.setenv(name, "a-key")
    for name, program in FILES.items():
        (folder / name).write_text(program, encoding="utf-8")
    named = {"ollama": "replay_ollama.py:OllamaAdapter"}.get(system["adapter"], system["adapter"])
    made = build(load("adapters", named, folder), system.get("settings", {}), folder=folder)
    assert isinstance(made, Adapter)
    return made


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: f"{system['adapter']}: {system['name']}")
def test_each_system_shown_can_be_built(
    system: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package := ELSEWHERE.get(system["name"], HARNESSES.get(system["adapter"])):
        pytest.importorskip(package)
    _built(system, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_needs_other_packages_is_python_and_has_the_target_it_is_named_by(name: str) -> None:
    (system,) = [system for system in SYSTEMS if system["name"] == name]
    file, _, target = system["settings"]["target"].partition(":")

    defined = {node.name: node for node in ast.parse(FILES[file]).body if hasattr(node, "name")}
    assert target in defined
    assert any(ELSEWHERE[name] in line for line in FILES[file].splitlines() if line.startswith("from "))


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("my chain", ["1 answers and 1 passages later: Q?"] * 2),
        ("my agent", ["That was question 1.", "That was question 2."]),
        ("line bot", ["1 answers later: Q?"] * 2),
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
    from replay.core.settings.plugins import settings_model

    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    settings = settings_model(load("adapters", name, tmp_path), provided=("folder",)).model_fields
    assert [setting for setting in settings if f"| `{setting}` |" not in section] == []


async def _chat(request: web.Request) -> web.Response:
    """Answers as Ollama's ``POST /api/chat`` does: https://docs.ollama.com/api/chat."""
    if request.path != "/api/chat":
        return web.Response(status=404)
    body = await request.json()
    if body["model"] != "llama3.2":
        return web.json_response({"error": f"model '{body['model']}' not found"}, status=404)
    assert body["stream"] is False
    said = " | ".join(f"{message['role']}: {message['content']}" for message in body["messages"])
    return web.json_response({"message": {"role": "assistant", "content": f"after {said}"}, "done": True})


async def test_the_adapter_of_your_own_answers_and_fails_as_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (system,) = [system for system in SYSTEMS if system["adapter"] == "ollama"]
    request = ChatRequest(question="Q?", history=(Exchange(question="A?", answer="A."),), depth=2)
    talk = Conversation(id="c", turns=())

    async def ask(**settings: Any) -> str:
        adapter = _built({**system, "settings": {**system["settings"], **settings}}, tmp_path, monkeypatch)
        async with entered(adapter), adapter.session(talk) as session:
            return (await session.ask(request)).text

    async with answering(_chat) as address:
        assert await ask(url=address) == "after user: A? | assistant: A. | user: Q?"
        with pytest.raises(AdapterReplyError, match="is there a model other"):
            await ask(url=address, model="other")
    with pytest.raises(AdapterConnectionError, match="does it run"):
        await ask(url=await unused_address())


def test_the_adapter_of_your_own_is_less_than_forty_lines() -> None:
    shown = (FILES["replay_ollama.py"] + FILES["pyproject.toml"]).splitlines()
    assert sum(1 for line in shown if line.strip()) < 40


def _environment(folder: Path) -> Path:
    """A fresh environment's Python. What this project needs comes from where the tests run."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    here = sysconfig.get_paths()["purelib"]
    (packages / "tests.pth").write_text(f"import site; site.addsitedir({here!r})\n", encoding="utf-8")
    return folder / "bin" / "python"


@pytest.mark.skipif(os.name == "nt", reason="environments lie elsewhere there")
async def test_the_adapter_of_your_own_is_found_once_it_is_installed(tmp_path: Path) -> None:
    """Slow, some seconds: it is built and installed into an environment of its own, and played there."""
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    for name in ("pyproject.toml", "replay_ollama.py"):
        (plugin / name).write_text(FILES[name], encoding="utf-8")
    (tmp_path / "talk.jsonl").write_text(
        json.dumps({"id": "talk", "turns": [{"question": "One?"}, {"question": "Two?"}]}), encoding="utf-8"
    )
    async with answering(_chat) as address:
        system = {"name": "m", "adapter": "ollama", "settings": {"model": "llama3.2", "url": address}}
        scenario = {"name": "own", "data": {"path": "talk.jsonl"}, "systems": [system]}
        scenario["policies"] = [{"pred": {"detect": False}}]
        (tmp_path / "own.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
        python = await asyncio.to_thread(_environment, tmp_path / "fresh")

        pip = ["-m", "pip", "--disable-pip-version-check", "--python", str(python), "install", "--quiet"]
        install = [*pip, "--no-index", "--no-deps", "--no-build-isolation", str(plugin)]
        await _run(sys.executable, *install, folder=tmp_path)
        await _run(str(python), "-m", "replay", "run", "own.yaml", folder=tmp_path)

    first = "after user: One?"
    assert [record.answer for record in Run(newest_run(tmp_path / "runs")).records()] == [
        first,
        f"after user: One? | assistant: {first} | user: Two?",
    ]
    assert "ollama" not in available("adapters")  # here it is not installed


async def _run(*command: str, folder: Path) -> None:
    """Run *command*, which must not fail."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, out.decode() + err.decode()
