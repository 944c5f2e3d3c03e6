"""
Exports of Slack, a folder or the zip archive as it was downloaded: ``users.json``, ``channels.json`` (beside
it ``groups.json``, ``dms.json``, ``mpims.json``), and a folder for each channel with a file for each day.

https://slack.com/help/articles/220556107-How-to-read-Slack-data-exports; messages are those of
https://docs.slack.dev/reference/events/message/. Looked at: the export that houstondatavis/slack-export
publishes.

- A thread is a conversation: the message that begins it and its replies, of whatever day. In direct messages,
  where nobody needs threads, what stands outside of them on one day is a conversation too.
- Bots are the assistant, or the users and bots whom ``agents`` names; everybody else is the user. Messages of
  bots that aren't named are left out then. A thread in which no assistant answers is no conversation.
- Joining, leaving, topics and what else Slack itself says are no messages.
- ``<@U123>`` becomes the person's name, ``<#C123|general>`` the channel's, ``<url|label>`` the label
  with the address. An assistant that is called at a message's beginning is not part of the question.
- Files, and what a message shows without text, are counted, turn by turn, in the metadata as ``left_out``.
"""

from __future__ import annotations

import html
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.datasets.chat_log import ChatLogParser, ParsedMessage
from replay.datasets.data_file import SourceLocation, decode, missing

T = TypeVar("T")
Folder = Path | zipfile.Path

NAME = "slack"
_SAID = frozenset({None, "bot_message", "file_share", "me_message", "thread_broadcast"})
"""Subtypes of messages that somebody wrote."""
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_MARKED = re.compile(r"<([@#!])?([^<>|]+)(?:\|([^<>]*))?>")
_MOST_BYTES = 256 * 2**20
"""Of one file of an archive, unpacked."""


class _Profile(msgspec.Struct):
    display_name: str | None = None
    real_name: str | None = None


class _User(msgspec.Struct):
    id: str
    name: str = ""
    real_name: str | None = None
    is_bot: bool = False
    profile: _Profile = msgspec.field(default_factory=_Profile)

    @property
    def full_name(self) -> str:
        """Return the full name, written as one, so that it can be told for a name; else what people see."""
        full = self.real_name or self.profile.real_name
        return (full.title() if full and full.islower() else full) or self.profile.display_name or self.name


class _Channel(msgspec.Struct):
    id: str
    name: str | None = None


class _BotProfile(msgspec.Struct):
    name: str | None = None


class _Attachment(msgspec.Struct):
    text: str | None = None
    fallback: str | None = None


class _SlackMessage(msgspec.Struct):
    ts: str
    type: str = "message"
    subtype: str | None = None
    text: str | None = None
    user: str | None = None
    bot_id: str | None = None
    username: str | None = None
    bot_profile: _BotProfile | None = None
    thread_ts: str | None = None
    files: list[Any] | None = None
    attachments: list[_Attachment] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackReader:
    """Reads an export of Slack, one conversation a thread with an assistant. A channel is held in memory."""

    agents: Sequence[str] = ()
    """Users and bots who are the assistant, by name or id; all bots, if left out."""
    channels: Sequence[str] = ()
    """Only these, by name or id; all, if left out."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether *path* is the folder or archive of an export."""
        return is_slack_export(path)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations, channel by channel, in the order in which they began.

        Raises:
            DatasetError: *path* is no export, its list of users can't be read, or no assistant answers in it.
        """
        root = _root(path)
        if root is None and not path.exists():
            raise DatasetError(missing(path), path=str(path))
        if root is None:
            raise DatasetError(
                "is no export of Slack; name the folder or the archive with users.json in it", path=str(path)
            )
        export = _SlackExport(
            path=path,
            users={user.id: user for user in _decode_file(root / "users.json", list[_User], path)},
            agents=frozenset(self.agents),
        )
        yielded = False
        for folder, name, is_direct in _channels(root, path):
            if self.channels and not {folder.name, name} & set(self.channels):
                continue
            for found in export.conversations(folder, name, is_direct):
                yielded = True
                yield found
        if not yielded:
            who = "of those that agents names" if self.agents else "of a bot; agents names people who answer"
            raise DatasetError(f"has no thread with a message {who}", path=str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SlackExport:
    path: Path
    users: Mapping[str, _User]
    agents: frozenset[str]

    def conversations(
        self, folder: Folder, channel: str, is_direct: bool
    ) -> Iterator[Conversation | DatasetError]:
        """Yield the conversations of a channel, after the errors of days that can't be read."""
        said: list[tuple[str, _SlackMessage]] = []
        for day in _entries(folder):
            if not _DAY.fullmatch(day.name):
                continue
            try:
                messages = _decode_file(day, list[_SlackMessage], self.path)
            except DatasetError as error:
                yield error
                continue
            date = day.name.removesuffix(".json")
            said += [(date, one) for one in messages if one.type == "message" and one.subtype in _SAID]
        roots = {one.thread_ts for _, one in said}
        threads: dict[str, list[_SlackMessage]] = {}
        for date, one in said:
            alone = one.thread_ts is None and one.ts not in roots
            threads.setdefault(date if is_direct and alone else one.thread_ts or one.ts, []).append(one)
        for name, thread in threads.items():
            place = SourceLocation(path=self.path / folder.name)
            if found := self._conversation(f"{channel}-{name}", thread, place):
                yield found

    def _conversation(
        self, name: str, messages: Sequence[_SlackMessage], place: SourceLocation
    ) -> Conversation | None:
        story = ChatLogParser()
        answered = False
        # A reply that is also sent to the channel may stand there twice.
        for one in sorted({one.ts: one for one in messages}.values(), key=lambda one: float_of(one.ts)):
            role = self._role(one)
            said = self._parse(one, role)
            if role is None or not (said.text or said.left_out):
                continue
            answered |= role == "assistant" and bool(story.turns)
            story.tell(role, said, float_of(one.ts))
        return story.conversation(name, {}, place) if answered else None

    def _role(self, message: _SlackMessage) -> str | None:
        """Return who speaks; None for bots that are no assistant."""
        user = self.users.get(message.user or "")
        is_bot = (
            bool(message.bot_id) or message.subtype == "bot_message" or (user is not None and user.is_bot)
        )
        if not self.agents:
            return "assistant" if is_bot else "user"
        profile = message.bot_profile
        names = {message.user, message.bot_id, message.username, profile.name if profile else None}
        if user is not None:
            names |= {user.id, user.name, user.real_name, user.profile.display_name}
        if names & self.agents:
            return "assistant"
        return None if is_bot else "user"

    def _parse(self, message: _SlackMessage, role: str | None) -> ParsedMessage:
        text = (message.text or "").strip()
        if not text:
            shown = (one.text or one.fallback or "" for one in message.attachments or ())
            text = "\n".join(one.strip() for one in shown if one.strip())
        if role == "user":
            text = self._without_call(text)
        text = html.unescape(_MARKED.sub(self._render_mark, text)).strip()
        left_out = Counter({"file": len(message.files)} if message.files else {})
        return ParsedMessage(texts=[text] if text else [], left_out=left_out)

    def _without_call(self, text: str) -> str:
        """Return *text* without an assistant's mention that it begins with."""
        called = re.match(r"<@([^<>|]+)(?:\|[^<>]*)?>[\s:,]*", text)
        if called is None:
            return text
        user = self.users.get(called[1])
        named = {called[1]} | ({user.name, user.real_name, user.profile.display_name} if user else set())
        is_agent = bool(named & self.agents) if self.agents else user is not None and user.is_bot
        return text[called.end() :] if is_agent else text

    def _render_mark(self, match: re.Match[str]) -> str:
        kind, target, label = match.groups()
        if kind == "@":
            user = self.users.get(target)
            return f"@{(user and user.full_name) or label or target}"
        if kind == "#":
            return f"#{label or target}"
        if kind == "!":
            return label or f"@{target.partition('^')[0]}"
        address = target.removeprefix("mailto:").removeprefix("tel:")
        return address if not label or label in address else f"{label} ({address})"


def float_of(ts: str) -> float:
    """Return a message's time in seconds since 1970; 0 where it is none."""
    try:
        return float(ts)
    except ValueError:
        return 0.0


def is_slack_export(path: Path) -> bool:
    """Return whether *path* is the folder or the zip archive of an export of Slack."""
    try:
        return _root(path) is not None
    except (OSError, zipfile.BadZipFile, DatasetError):
        return False


def _root(path: Path) -> Folder | None:
    """
    Return the folder of the export's lists, which may be the only one of an archive; None if there is none.

    Raises:
        DatasetError: the archive can't be read.
    """
    if path.is_dir():
        folders: list[Folder] = [path]
    elif path.is_file() and zipfile.is_zipfile(path):
        try:
            archive = zipfile.Path(path)
            folders = [archive, *(one for one in _entries(archive) if one.is_dir())][:2]
        except (OSError, zipfile.BadZipFile) as error:
            raise DatasetError(f"can't be unpacked: {error}", path=str(path)) from error
    else:
        return None
    needed = ("users.json", _LISTS[0])
    return next((one for one in folders if all((one / file).is_file() for file in needed)), None)


def _entries(folder: Folder) -> list[Folder]:
    entries: list[Folder] = [*folder.iterdir()]
    return sorted(entries, key=lambda one: one.name)


def _channels(root: Folder, path: Path) -> Iterator[tuple[Folder, str, bool]]:
    """Yield each channel's folder, its name, and whether it is a direct message."""
    names: dict[str, tuple[str, bool]] = {}
    for file in _LISTS:
        if (root / file).is_file():
            for one in _decode_file(root / file, list[_Channel], path):
                # Direct messages have no name; their folder is called by the id.
                names[one.name or one.id] = (one.name or one.id, file == "dms.json")
    for folder in _entries(root):
        if folder.is_dir() and any(_DAY.fullmatch(one.name) for one in _entries(folder)):
            name, is_direct = names.get(folder.name, (folder.name, False))
            yield folder, name, is_direct


def _decode_file(file: Folder, kind: type[T], path: Path) -> T:
    place = SourceLocation(path=file if isinstance(file, Path) else path / file.at)
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise place.error(f"can't be read: {error}") from error
    if len(data) > _MOST_BYTES:
        raise place.error(f"is larger than {_MOST_BYTES // 2**20} MiB")
    return decode(decoder_of(kind), data, place)
