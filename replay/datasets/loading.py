"""From file names to conversations: finding the files, telling their format, streaming them through."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError, PluginError, ReplayError
from replay.core.settings.plugin_bugs import describe_error, signature_of
from replay.core.settings.plugins import available, load, misfit
from replay.datasets.data_file import (
    SourceLocation,
    check_is_plain,
    dataset_files,
    is_folder,
    missing,
    open_data,
)
from replay.datasets.json_rows import check_is_json
from replay.datasets.reader import Reader, SetReader, check
from replay.datasets.slack import NAME as SLACK, is_slack_export

HEAD_BYTES = 64 * 1024
"""How much of a file a reader sees to recognize its format."""


def expand(patterns: Sequence[str], folder: Path) -> list[Path]:
    """
    Return the files that *patterns* name: paths, glob patterns, or folders that hold a saved data set. An
    export of Slack is one path, folder or archive.

    In the order of the patterns, and in alphabetical order within one; a file that two patterns match
    is there once.

    Raises:
        DatasetError: a pattern names no file, or a saved data set of several splits.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        try:
            path = folder / Path(pattern).expanduser()
            path.exists()
        except (OSError, RuntimeError) as error:  # a name of 5,000 characters, a user that there is none of
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise DatasetError(f"can't be looked for: {reason}", path=pattern[:100]) from error
        if saved := dataset_files(path):
            found.update(dict.fromkeys(saved))
            continue
        if path.is_dir() and is_slack_export(path):
            found.setdefault(path)
            continue
        if not path.is_dir() and (path.exists() or not glob.has_magic(pattern)):
            if not path.exists():
                raise DatasetError(missing(path), path=str(path))
            found.setdefault(path)
            continue
        # Not of the joined path: the folder's own name may hold brackets.
        names = glob.glob(str(Path(pattern).expanduser()), root_dir=folder, recursive=True)
        matches = sorted(folder / name for name in names)
        files = [match for match in matches if not match.is_dir()]
        if not files:
            message = "matches no file; check the pattern"
            raise DatasetError(is_folder(matches[0]) if matches else message, path=str(path))
        found.update(dict.fromkeys(files))
    return list(found)


def read_conversations(
    paths: Sequence[Path],
    *,
    reader: Reader | None,
    on_bad: Callable[[DatasetError], None] | None,
    limit: int | None,
) -> Iterator[Conversation]:
    """
    Yield the conversations of all files in order, each read only when it is asked for.

    *reader* None finds out each file's format. *on_bad* is told of every conversation, or whole file,
    that can't be read, and reading goes on after it. *limit* counts the conversations given out.

    Raises:
        DatasetError: *on_bad* is None and something can't be read.
    """
    yield from _take_conversations(_all(paths, reader), on_bad, limit)


def playable_conversations(
    conversations: Iterable[Conversation],
    *,
    on_bad: Callable[[DatasetError], None] | None,
    limit: int | None,
) -> Iterator[Conversation]:
    """
    Yield those of *conversations* that can be played.

    *on_bad*, *limit* and errors are as for ``read_conversations``.
    """
    yield from _take_conversations(_check_all(conversations, _MEMORY), on_bad, limit)


def _take_conversations(
    all_found: Iterator[_Found], on_bad: Callable[[DatasetError], None] | None, limit: int | None
) -> Iterator[Conversation]:
    if limit is not None and limit < 1:
        return
    count = 0
    for found in _unlike(all_found):
        if isinstance(found, Conversation):
            yield found
            count += 1
            if count == limit:
                return
        elif on_bad is None:
            raise found
        else:
            on_bad(found)


_Found = tuple[Path, int, Conversation | DatasetError]
"""File, 1-based position among what the file's reader gave, and what it gave."""

_MEMORY = Path("conversations in memory")
"""The "file" of conversations that come from none, for messages."""


def _all(paths: Sequence[Path], reader: Reader | None) -> Iterator[_Found]:
    if isinstance(reader, SetReader) and len(paths) > 1:
        yield from _all_together(paths, reader)
        return
    known = _readers() if reader is None else {}
    for path in paths:
        number = 0
        try:
            chosen = _find_reader(path, known) if reader is None else reader
            for found in _check_all(_read(chosen, path), path):
                number = found[1]
                yield found
            if number == 0:
                raise DatasetError("holds no conversation; is it the right file?", path=str(path))
        except DatasetError as error:  # the file as a whole, or its rest
            yield path, number + 1, error


def _all_together(paths: Sequence[Path], reader: SetReader) -> Iterator[_Found]:
    try:
        yield from _check_all(reader.read_set(paths), paths[0])
    except DatasetError as error:  # the files as a whole
        yield paths[0], 1, error


def _check_all(all_found: Iterable[Conversation | DatasetError], path: Path) -> Iterator[_Found]:
    """Yield *all_found* in *path*, with an error in place of each conversation that can't be played."""
    for number, found in enumerate(all_found, 1):
        if isinstance(found, Conversation):
            try:
                check(found, SourceLocation(path=path))
            except DatasetError as error:
                yield path, number, error
                continue
        yield path, number, found


def _read(reader: Reader, path: Path) -> Iterator[Conversation | DatasetError]:
    """
    Yield what *reader*, which may be a plug-in, reads from *path*.

    Raises:
        PluginError: it fails, or yields something else than conversations.
    """
    try:
        for found in reader.read(path):
            if not isinstance(found, Conversation | DatasetError):
                shown = f"{found!r:.100}"
                raise PluginError(
                    f"{type(reader).__name__} gives {shown} for {path}; read yields conversations"
                )
            yield found
    except ReplayError:
        raise
    except Exception as error:
        raise PluginError(f"{type(reader).__name__} fails on {path}: {describe_error(error)}") from error


def _unlike(all_found: Iterator[_Found]) -> Iterator[Conversation | DatasetError]:
    """Yield what was read, with an error in place of each conversation whose id was there before."""
    places: dict[str, tuple[Path, int]] = {}
    for path, number, found in all_found:
        if isinstance(found, Conversation):
            if found.id in places:
                first_path, first_number = places[found.id]
                yield DatasetError(
                    f'conversation {number} of this file has the id "{found.id}", and so has conversation '
                    f"{first_number} of {first_path}; results are kept by id, so rename or remove one",
                    path=str(path),
                    field="id",
                )
                continue
            places[found.id] = (path, number)
        yield found


def _readers() -> Mapping[str, Reader]:
    """
    Return every installed reader that needs no settings, by name.

    Raises:
        PluginError: one of them is none.
    """
    found: dict[str, Reader] = {}
    for name in available("readers"):
        factory = load("readers", name, Path())
        try:
            signature_of(factory).bind()
        except TypeError:  # it needs settings
            continue
        made = factory()
        if why := misfit(made, Reader):
            raise PluginError(
                f'"{name}" gives no reader: {why}; mend it, or remove the package that brings it'
            )
        found[name] = cast(Reader, made)
    return found


def _find_reader(path: Path, readers: Mapping[str, Reader]) -> Reader:
    """
    Return the one reader that recognizes *path*.

    Raises:
        DatasetError: the file can't be read, or none or several recognize it.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DatasetError(
            f"is a pipe or device, whose format can't be told beforehand; {_name_it(readers)}", path=str(path)
        )
    if is_slack_export(path):
        return readers[SLACK]
    with open_data(path) as stream:
        head = stream.read(HEAD_BYTES)
    check_is_plain(head, path)
    if not head.strip():
        raise DatasetError("is empty; check that it was written or downloaded completely", path=str(path))
    names = [name for name, reader in readers.items() if reader.recognizes(path, head)]
    if len(names) == 1:
        return readers[names[0]]
    if not names and len(head) < HEAD_BYTES:
        check_is_json(head, path)
    found = f"looks like {' and like '.join(names)}" if names else "is in no format that can be told safely"
    raise DatasetError(f"{found}; {_name_it(names or readers)}", path=str(path))


def _name_it(names: Sequence[str] | Mapping[str, Reader]) -> str:
    return f"name the format under data.format (one of: {', '.join(names)})"
