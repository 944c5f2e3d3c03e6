"""
Conversations as Hugging Face datasets, there and back without loss; ``pip install "convreplay[datasets]"``.

A row is a conversation, with the columns of the native format (``features``). What has no one type,
``metadata``, ``expect`` and ``goal``, is JSON text. A data set written to disk, or as Parquet, is named under
``data.path`` like any file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.core.settings.plugins import build, load
from replay.datasets.data_file import without_nulls
from replay.datasets.loading import read_conversations
from replay.datasets.native import native_fields

if TYPE_CHECKING:
    import datasets

    from replay.results.run import Run

_FREE = ("metadata", "expect", "goal")
_TEXTS = ("title", "section", "background", "text", "session", "kind")
_LEFT_OUT = dict.fromkeys(_TEXTS, "") | dict.fromkeys(_FREE[:2], "{}")
"""What texts are that a native line may leave out; those not named are null."""


def features() -> datasets.Features:
    """Return the columns, and their types."""
    from datasets import Features, List, Value

    text = Value("string")
    message = {
        "role": text,
        "text": text,
        "tool_calls": List({"id": text, "name": text, "arguments": text}),
        "tool_call_id": text,
        "name": text,
        "left_out": List(text),
    }
    turn = {
        "id": text,
        "question": text,
        "gold_answers": List(text),
        "standalone": text,
        "gold_passages": List(text),
        "fact": text,
        "asked_with": List(message),
        "steps": List(message),
        "expect": text,
        "session": text,
        "evidence": List(text),
        "kind": text,
    }
    return Features(
        {
            "id": text,
            "title": text,
            "section": text,
            "background": text,
            "turns": List(turn),
            "goal": text,
            "passages": List({"id": text, "title": text, "text": text}),
            "metadata": text,
            "expect": text,
        }
    )


def to_dataset(conversations: Iterable[Conversation]) -> datasets.Dataset:
    """
    Return *conversations*, a row each, in their order; all of them are held in memory.

    Raises:
        ValueError: metadata holds what JSON can't (NaN).
    """
    from datasets import Dataset

    columns = features()
    rows = [_row(native_fields(one), columns) for one in conversations]
    return Dataset.from_dict({name: [row[name] for row in rows] for name in columns}, features=columns)


def from_dataset(
    dataset: Iterable[Mapping[str, Any]], *, format: str | None = None, **settings: Any
) -> list[Conversation]:
    """
    Return the conversations in *dataset*, whose rows may be in any format that is a conversation a line.

    *format* and its *settings* are as under ``data`` in a scenario; without them the first rows tell.

    Raises:
        DatasetError: a row is no conversation; names its number as a line.
        PluginError, ScenarioError: there is no such format, or its settings don't fit.
    """
    reader = build(load("readers", format, Path()), settings, folder=Path()) if format else None
    with TemporaryDirectory() as folder:
        # Readers are of files, and have one way to say what is wrong where.
        path = Path(folder) / "dataset.jsonl"
        with path.open("wb") as stream:
            for row in dataset:
                # What JSON doesn't have, such as a picture, is no part of any format.
                line = msgspec.json.encode(row, enc_hook=lambda _: None)
                stream.write(msgspec.json.encode(without_nulls(msgspec.json.decode(line))) + b"\n")
        try:
            return list(read_conversations([path], reader=reader, on_bad=None, limit=None))
        except DatasetError as error:
            raise DatasetError(error.message, path="dataset", line=error.line, field=error.field) from None


def turns_dataset(run: Run) -> datasets.Dataset:
    """Return the turns of *run* with their scores, a row each: ``run.turns()``."""
    from datasets import Dataset

    return Dataset.from_pandas(run.turns(), preserve_index=False)


def _row(value: Any, feature: Any) -> Any:
    """Return *value* of the native format, with all that may be left out there, as *feature* says."""
    from datasets import List

    if isinstance(feature, dict):
        given = _LEFT_OUT | {
            name: json.dumps(one, allow_nan=False) if name in _FREE else one for name, one in value.items()
        }
        return {name: _row(given.get(name), one) for name, one in feature.items()}
    if isinstance(feature, List):
        return [_row(one, feature.feature) for one in value or ()]
    return value
