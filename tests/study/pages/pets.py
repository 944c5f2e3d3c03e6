"""A study of one conversation about passages that are searched."""

from __future__ import annotations

import json
from pathlib import Path

from replay.study.schema import PAGE
from tests.study.serving import begun

HOSTILE = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'> \u202e harmed"
PASSAGES = [
    {"id": "rex", "text": "Rex barks at the moon."},
    {"id": "a/b c&d", "title": "<b>Tom</b>", "text": f"Tom meows. {HOSTILE}"},
    *({"id": f"fish-{n}", "text": f"Fish number {n} says nothing."} for n in range(2 * PAGE)),
]


def pets_study(folder: Path, **settings) -> Path:
    """The database of a study with one person, who asks one question."""
    conversation = {"id": "pets", "turns": [{"question": "Who barks?"}], "passages": PASSAGES}
    (folder / "pets.jsonl").write_text(json.dumps(conversation), "utf-8")
    preset = {"fewest_turns": 1, "most_turns": 1, "conversations": 1, **settings}
    file = {
        "name": "Pets",
        "preset": {"mahueval": preset},
        "data": {"path": "pets.jsonl"},
        "systems": [{"name": "zebra", "adapter": "extractive"}],
        "raters": 1,
        "limits": {"between_messages_s": 0},
    }
    return begun(json.dumps(file), folder)
