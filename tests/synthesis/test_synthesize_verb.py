"""``replay synthesize``, and documents as a scenario's data."""

import json

import pytest

from replay.datasets.loading import expand, read_conversations
from replay.datasets.native import NativeReader
from replay.synthesis.reader import DocumentsReader
from tests.cli.command import replay_cli
from tests.data_tables import from_table

SCENARIO = """
name: from-documents
data: {path: docs/*.md, format: documents, settings: {conversations: 4, turns: 4}}
systems: [{name: finder, adapter: extractive}]
policies: [pred]
scorers: [f1]
"""


def test_conversations_and_a_card_are_written(documents, tmp_path):
    (documents / "empty.md").write_text("", "utf-8")
    done = replay_cli("synthesize", "docs", "-n", "6", "--turns", "5", "-o", "ours.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    conversations = list(NativeReader().read(tmp_path / "ours.jsonl"))
    assert [len(one.turns) for one in conversations] == [5] * 6
    assert "left out: docs/empty.md: is empty" in done.stderr
    assert "8 documents, 16 sections" in done.stderr
    card = (tmp_path / "ours.card.md").read_text("utf-8")
    assert card.startswith("### ours: 6 conversations from 8 documents")
    assert '"found_by": "extractive"' in card


@from_table
def test_bad_input_is_one_sentence(documents, tmp_path, arguments, message):
    done = replay_cli("synthesize", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "conversations.jsonl").exists()


def test_documents_are_a_scenarios_data(documents, tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO, "utf-8")
    done = replay_cli("run", "s.yaml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["signatures"]["data"].startswith("conversations:4|")


def test_equal_documents_are_made_once(documents, tmp_path, monkeypatch):
    monkeypatch.setenv("CONVREPLAY_CACHE", str(tmp_path / "cache"))
    paths = expand(["docs/*.md"], tmp_path)

    def read(**settings):
        reader = DocumentsReader(conversations=4, turns=4, **settings)
        return list(read_conversations(paths, reader=reader, on_bad=None, limit=None))

    first = read()
    with monkeypatch.context() as patched:
        patched.setattr("replay.synthesis.synthesize.synthesize", None)  # calling it would fail
        assert read() == first
        with pytest.raises(TypeError):
            read(seed=1)
    paths[0].write_text(paths[0].read_text("utf-8").replace("week", "month"), "utf-8")
    assert read() != first
