"""
Tickets of help desks, as their interfaces and exports write them: a ticket is a conversation, who asked is
the user, whoever answers the assistant.

- Zendesk: tickets with their ``comments`` in them, as in its JSON export (one ticket a line) or put together
  from ``/api/v2/tickets`` and ``/api/v2/tickets/ID/comments``
  (https://developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments/; the export as
  scottdotjs/zendesk-flatfile reads it). Comments of the requester are the user's. ``satisfaction_rating`` is
  kept in the metadata, as a score.
- Intercom: conversations as ``/conversations/ID`` gives them: ``source`` and ``conversation_parts``
  (https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/). Admins, teams and
  bots are the assistant. ``conversation_rating`` is a score.
- Freshdesk: tickets with their ``conversations``, as ``/api/v2/tickets/ID?include=conversations`` gives them
  (https://developers.freshdesk.com/api/#view_a_ticket). The description is the first message.

Private notes are left out, unless they are asked for; they are the assistant's then. Of HTML the text is
kept. Attachments are counted, turn by turn, in the metadata as ``left_out``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
from msgspec.structs import replace

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.chat_log import ChatLogParser, ParsedMessage
from replay.datasets.data_file import SourceLocation, open_data
from replay.datasets.json_rows import outline, rows_of_any, rows_of_list
from replay.datasets.reader import conversations

_HEAD_BYTES = 64 * 1024
_BLOCKS = frozenset({"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "blockquote", "pre"})
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n ?(?:\n ?)*")
Id = int | str


@dataclass(slots=True, kw_only=True)
class TicketMessage:
    """One message of a ticket."""

    is_user: bool
    text: str
    at: Any
    private: bool = False
    attachments: int = 0


class _Ticket(Protocol):
    """A ticket as a help desk writes it."""

    id: Id

    @property
    def name(self) -> str | None:
        """Return what it is about."""
        ...

    @property
    def score(self) -> tuple[str, Any] | None:
        """Return what the user said of it: what that is called, and its value."""
        ...

    def messages(self, place: SourceLocation) -> Sequence[TicketMessage]:
        """
        Return what was said in it, in order.

        Raises:
            DatasetError: who asked is not known.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _TicketReader:
    """What readers of tickets share, one conversation a ticket."""

    private_notes: bool = False
    """Whether private notes are read, as the assistant's."""

    row: ClassVar[type[_Ticket]]
    page: ClassVar[str]
    """Under which key a page has its tickets."""
    within: ClassVar[str]
    """What a ticket has in it, as an outline's path."""
    names: ClassVar[frozenset[str]]
    """Keys of that."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first ticket has messages as this help desk writes them."""
        found = outline(head)
        places = ("", "[]", f".{self.page}[]")
        return any(self.names <= found.get(f"{at}{self.within}", frozenset()) for at in places)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield one conversation a ticket, of rows, of one object, or of a page with a list.

        Raises:
            DatasetError: the file can't be opened.
        """
        is_page = False
        if path.is_file():  # a pipe can't be read twice
            with open_data(path) as stream:
                is_page = self.page in outline(stream.read(_HEAD_BYTES)).get("", ())
        rows = rows_of_list(path, self.row, key=self.page) if is_page else rows_of_any(path, self.row)
        yield from conversations(rows, self._build)

    def _build(self, ticket: _Ticket, place: SourceLocation) -> Conversation:
        """
        Return the conversation that *ticket* is; messages without text and attachments are none.

        Raises:
            DatasetError: the user says nothing in it.
        """
        story = ChatLogParser()
        for one in ticket.messages(place):
            if (one.private and not self.private_notes) or not (one.text or one.attachments):
                continue
            left_out = Counter({"attachment": one.attachments} if one.attachments else {})
            said = ParsedMessage(texts=[one.text] if one.text else [], left_out=left_out)
            story.tell("user" if one.is_user else "assistant", said, one.at)
        if not story.turns:
            raise place.error(f'ticket "{ticket.id}" has no message of the user')
        name, value = ticket.score or ("", None)
        scores = {"scores": [{"name": name, "value": value}]} if name else {}
        return replace(story.conversation(str(ticket.id), scores, place), title=(ticket.name or "").strip())


class _TextOfHtml(HTMLParser):
    """Collects the text, a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._unseen += tag in ("style", "script")
        if tag in _BLOCKS:
            self.texts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in ("style", "script") and self._unseen > 0
        if tag in _BLOCKS:
            self.texts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.texts.append(data.replace("\n", " "))


def text_of_html(html: str | None) -> str:
    """Return the text of *html*, a line for each of its blocks."""
    parser = _TextOfHtml()
    parser.feed(html or "")
    parser.close()
    return _LINES.sub("\n", _SPACES.sub(" ", "".join(parser.texts))).strip()


class _Person(msgspec.Struct):
    id: Id | None = None


class _Rating(msgspec.Struct):
    score: str | None = None


class _Comment(msgspec.Struct):
    author_id: Id | None = None
    plain_body: str | None = None
    body: str | None = None
    html_body: str | None = None
    public: bool = True
    created_at: Any = None
    attachments: list[Any] | None = None

    @property
    def text(self) -> str:
        # The plain body of an HTML comment has its entities.
        return (
            text_of_html(self.html_body) if self.html_body else (self.plain_body or self.body or "").strip()
        )


class _ZendeskTicket(msgspec.Struct):
    id: Id
    comments: list[_Comment]
    requester_id: Id | None = None
    requester: _Person | None = None
    subject: str | None = None
    satisfaction_rating: _Rating | str | None = None

    @property
    def name(self) -> str | None:
        return self.subject

    @property
    def score(self) -> tuple[str, Any] | None:
        rating = self.satisfaction_rating
        value = rating.score if isinstance(rating, _Rating) else rating
        return ("satisfaction_rating", value) if value and value not in ("offered", "unoffered") else None

    def messages(self, place: SourceLocation) -> list[TicketMessage]:
        requester = self.requester_id or (self.requester.id if self.requester else None)
        if requester is None:
            raise place.error(
                "is required but missing; it says whose comments are the user's", "requester_id"
            )
        return [
            TicketMessage(
                is_user=str(one.author_id) == str(requester),
                text=one.text,
                at=one.created_at,
                private=not one.public,
                attachments=len(one.attachments or ()),
            )
            for one in self.comments
        ]


class ZendeskReader(_TicketReader):
    """Reads tickets of Zendesk with their comments, one conversation a ticket."""

    row: ClassVar[type[_Ticket]] = _ZendeskTicket
    page: ClassVar[str] = "tickets"
    within: ClassVar[str] = ".comments[]"
    names: ClassVar[frozenset[str]] = frozenset({"author_id", "public"})


class _Author(msgspec.Struct):
    type: str = ""


class _Part(msgspec.Struct):
    author: _Author | None = None
    body: str | None = None
    part_type: str = "comment"
    created_at: Any = None
    attachments: list[Any] | None = None
    subject: str | None = None

    @property
    def message(self) -> TicketMessage:
        return TicketMessage(
            is_user=self.author is not None and self.author.type in ("user", "lead", "contact"),
            text=text_of_html(self.body),
            at=_moment(self.created_at),
            # Notes, and what is written to whom a conversation is assigned.
            private="note" in self.part_type or "assignment" in self.part_type,
            attachments=len(self.attachments or ()),
        )


class _Parts(msgspec.Struct):
    conversation_parts: list[_Part]


class _IntercomRating(msgspec.Struct):
    rating: int | None = None


class _IntercomConversation(msgspec.Struct):
    id: Id
    conversation_parts: _Parts
    source: _Part | None = None
    created_at: Any = None
    title: str | None = None
    conversation_rating: _IntercomRating | None = None

    @property
    def name(self) -> str | None:
        return self.title or text_of_html(self.source.subject if self.source else None)

    @property
    def score(self) -> tuple[str, Any] | None:
        rating = self.conversation_rating.rating if self.conversation_rating else None
        return None if rating is None else ("rating", rating)

    def messages(self, place: SourceLocation) -> list[TicketMessage]:
        messages = [part.message for part in self.conversation_parts.conversation_parts]
        if self.source is not None:
            first = self.source.message
            first.at = _moment(self.created_at)
            messages.insert(0, first)
        return messages


class IntercomReader(_TicketReader):
    """Reads conversations of Intercom with their parts."""

    row: ClassVar[type[_Ticket]] = _IntercomConversation
    page: ClassVar[str] = "conversations"
    within: ClassVar[str] = ".conversation_parts"
    names: ClassVar[frozenset[str]] = frozenset({"conversation_parts"})


def _moment(seconds: Any) -> Any:
    """Return a time in seconds since 1970 as text; anything else as it is."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 2**36:
        return seconds
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class _Reply(msgspec.Struct):
    body_text: str | None = None
    body: str | None = None
    incoming: bool = False
    private: bool = False
    created_at: Any = None
    attachments: list[Any] | None = None

    @property
    def message(self) -> TicketMessage:
        return TicketMessage(
            is_user=self.incoming,
            text=(self.body_text or "").strip() or text_of_html(self.body),
            at=self.created_at,
            private=self.private,
            attachments=len(self.attachments or ()),
        )


class _FreshdeskTicket(msgspec.Struct):
    id: Id
    conversations: list[_Reply]
    subject: str | None = None
    description: str | None = None
    description_text: str | None = None
    created_at: Any = None
    attachments: list[Any] | None = None

    @property
    def name(self) -> str | None:
        return self.subject

    @property
    def score(self) -> None:
        return None

    def messages(self, place: SourceLocation) -> list[TicketMessage]:
        first = TicketMessage(
            is_user=True,
            text=(self.description_text or "").strip() or text_of_html(self.description),
            at=self.created_at,
            attachments=len(self.attachments or ()),
        )
        return [first, *(one.message for one in self.conversations)]


class FreshdeskReader(_TicketReader):
    """Reads tickets of Freshdesk with their conversations, one conversation a ticket."""

    row: ClassVar[type[_Ticket]] = _FreshdeskTicket
    page: ClassVar[str] = "tickets"
    within: ClassVar[str] = ".conversations[]"
    names: ClassVar[frozenset[str]] = frozenset({"incoming", "private"})
