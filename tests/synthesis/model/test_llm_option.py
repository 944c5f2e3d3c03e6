"""``replay synthesize --llm`` as a user gets it, with a model that a local server plays."""

from __future__ import annotations

import pytest

from tests.cli.command import replay_cli
from tests.synthesis.model.model_server import model_server, write_documents


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVREPLAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "docs").mkdir()
    write_documents(tmp_path / "docs")
    (tmp_path / "prices.yaml").write_text("models: {m: {prompt_usd: 1, completion_usd: 2}}\n")
    return tmp_path


def synthesize(folder, server, *more):
    llm = f"{{openai: {{model: m, base_url: '{server.url}'}}}}"
    shares = ["--share", "unanswerable=0"]
    return replay_cli(
        "synthesize", "docs", "-n", 2, "--turns", 3, "--llm", llm, "--prices", "prices.yaml", *shares, *more,
        cwd=folder,
    )  # fmt: skip


def test_it_says_what_it_would_cost_then_makes_them_and_pays_once(folder):
    with model_server() as server:
        dry = synthesize(folder, server, "--dry-run")
        assert (dry.returncode, server.prompts) == (0, []), dry.stderr
        assert "12 to 108" in dry.stdout
        assert "~0.00" in dry.stdout
        made = synthesize(folder, server, "--out", "talks.jsonl")
        assert made.returncode == 0, made.stderr
        assert made.stdout == "wrote talks.jsonl and talks.card.md\n"
        assert "12 asks sent, 1,200 prompt and 120 completion tokens, 0.0014 US dollars." in made.stderr
        first = (folder / "talks.jsonl").read_bytes()
        again = synthesize(folder, server, "--out", "talks.jsonl")
        assert "0 asks sent, 12 replies reused" in again.stderr
        assert len(server.prompts) == 12
    assert (folder / "talks.jsonl").read_bytes() == first
    assert '"method": "student"' in (folder / "talks.card.md").read_text()
    checked = replay_cli("data", "stats", "talks.jsonl", cwd=folder)
    assert "near-duplicates" in checked.stdout


def test_a_dry_run_without_a_model_is_refused(folder):
    done = replay_cli("synthesize", "docs", "--dry-run", cwd=folder)
    assert done.returncode == 2
    assert "it goes with --llm" in done.stderr


def test_prompts_of_ones_own_are_read_first(folder):
    with model_server() as server:
        done = synthesize(folder, server, "--prompts", "nowhere")
        assert server.prompts == []
    assert done.returncode == 2
    assert done.stderr.startswith('--prompts: the prompt file "nowhere/student.txt" can\'t be read')
