"""
The review of a suite: what was replaced, what is kept, what is expected, and what a person changes of it.

The pages are for one's own eyes, as ``replay view``: they bind to loopback and let in whoever has their
token. Each change is written at once, so that one can leave and go on another day.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

from aiohttp import web
from jinja2 import Environment
from msgspec.structs import replace

from replay.collecting.deidentify import ReplacedValue, substitute
from replay.collecting.patterns import KINDS, Kind
from replay.collecting.replacements import Pseudonyms
from replay.collecting.suite import Suite, SuiteEntry, read_replaced, replaced_path, write_replaced
from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.core.expectation import Expectation
from replay.core.settings.yaml_lines import parse
from replay.datasets.data_file import SourceLocation
from replay.datasets.expected import check_expectations, read_expectations, write_expectations
from replay.web.access import let_in_by_token
from replay.web.app import Failure, add_assets, body_in_time, content_policy, html, new_app, serve, stamp_of
from replay.web.pages import STATIC, make_environment

_PLACE = SourceLocation(path=Path("expect"))


def expectations_in(text: str) -> tuple[Expectation, ...]:
    """
    Return the expectations in *text*, YAML or JSON as under ``expect`` in a data file; none in an empty one.

    Raises:
        ValueError: they can't be read or checked, in words.
    """
    if not text.strip():
        return ()
    value, _, faults = parse(text)
    if faults:
        raise ValueError(faults[0].message)
    if not isinstance(value, dict) and not (
        isinstance(value, list) and all(isinstance(one, dict) for one in value)
    ):
        raise ValueError("a check and its value are expected, as in: contains: refund")
    try:
        found = read_expectations(value, _PLACE, "expect")
        check_expectations(found, _PLACE, "expect")
    except DatasetError as error:
        field = (error.field or "").removeprefix("expect").lstrip(".")
        raise ValueError(f"{field}: {error.message}" if field else error.message) from error
    return found


def expectations_text(expectations: Sequence[Expectation]) -> str:
    """Return *expectations* in the form that ``expectations_in`` reads, a line each."""
    written = write_expectations(expectations)
    if isinstance(written, list):
        return "\n".join(f"- {json.dumps(one, ensure_ascii=False)}" for one in written)
    return "\n".join(f"{kind}: {json.dumps(value, ensure_ascii=False)}" for kind, value in written.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedConversation:
    """A conversation as somebody wants it, and what is wrong with that."""

    conversation: Conversation
    key_turns: tuple[int, ...]
    problems: Mapping[str, str]
    """By field of the form; where there is one, nothing is kept."""


def apply_form(conversation: Conversation, form: Mapping[str, str]) -> EditedConversation:
    """
    Return *conversation* with the texts of *form*, whose fields end in the turn's depth: ``question-2``.
    """
    problems: dict[str, str] = {}
    turns: list[Turn] = []
    for depth, turn in enumerate(conversation.turns, 1):
        question = _text(form.get(f"question-{depth}", turn.question))
        answer = _text(form.get(f"answer-{depth}", turn.gold_answer or ""))
        standalone = _text(form.get(f"standalone-{depth}", turn.standalone or ""))
        expect = _expect(form, f"expect-{depth}", turn.expect, problems)
        if not question:
            problems[f"question-{depth}"] = "is empty; there is nothing to ask"
        asked_with = turn.asked_with
        if question != _text(turn.question):
            # In several messages it was another question; what remains are the instructions.
            asked_with = tuple(message for message in asked_with if message.role != "user")
        else:
            question = turn.question
        turns.append(
            replace(
                turn,
                question=question,
                asked_with=asked_with,
                gold_answers=turn.gold_answers
                if answer == _text(turn.gold_answer or "")
                else ((answer,) if answer else ()) + turn.gold_answers[1:],
                standalone=turn.standalone
                if standalone == _text(turn.standalone or "")
                else standalone or None,
                expect=expect,
            )
        )
    edited = replace(
        conversation,
        title=_text(form.get("title", conversation.title)),
        turns=tuple(turns),
        expect=_expect(form, "expect-end", conversation.expect, problems),
    )
    key_turns = tuple(depth for depth in range(1, len(turns) + 1) if f"key-{depth}" in form)
    return EditedConversation(conversation=edited, key_turns=key_turns, problems=problems)


def _text(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _expect(
    form: Mapping[str, str], name: str, before: tuple[Expectation, ...], problems: dict[str, str]
) -> tuple[Expectation, ...]:
    if name not in form:
        return before
    try:
        return expectations_in(_text(form[name]))
    except ValueError as error:
        problems[name] = str(error)
        return before


def put_back(
    conversation: Conversation, values: Sequence[ReplacedValue], index: int
) -> tuple[Conversation, list[ReplacedValue]]:
    """
    Return *conversation* with what the value at *index* stands for, everywhere, and the other values.

    Raises:
        IndexError: there is no such value.
    """
    value = values[index]
    made, _ = substitute(conversation, value.replacement, value.original)
    return made, [one for place, one in enumerate(values) if place != index]


def replace_everywhere(
    conversation: Conversation,
    values: Sequence[ReplacedValue],
    text: str,
    kind: Kind,
    rng: random.Random,
) -> tuple[Conversation, list[ReplacedValue]]:
    """
    Return *conversation* with a made-up value for each *text*, and *values* with that one.

    Raises:
        ValueError: *text* stands nowhere in it, in words.
    """
    made_up = Pseudonyms(rng, [text, *(value.replacement for value in values)]).of(kind, text)
    made, count = substitute(conversation, text, made_up)
    if not count:
        raise ValueError(f'"{text}" stands nowhere in this conversation, written like that')
    return made, [*values, ReplacedValue(kind=kind, original=text, replacement=made_up, count=count)]


class MarkedPiece(NamedTuple):
    """Part of a text."""

    text: str
    value: ReplacedValue | None
    """What stands there for something else; None for the conversation's own words."""


def marked_pieces(text: str, values: Sequence[ReplacedValue]) -> list[MarkedPiece]:
    """Return *text* in pieces, which together are it, by what in it was replaced."""
    by_text = {value.replacement.lower(): value for value in values}
    if not by_text:
        return [MarkedPiece(text, None)]
    longest = sorted(by_text, key=lambda one: (-len(one), one))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)
    pieces, at = [], 0
    for match in pattern.finditer(text):
        if match.start() > at:
            pieces.append(MarkedPiece(text[at : match.start()], None))
        pieces.append(MarkedPiece(match[0], by_text[match[0].lower()]))
        at = match.end()
    if at < len(text):
        pieces.append(MarkedPiece(text[at:], None))
    return pieces


FOLDER = Path(__file__).resolve().parent
_FILES = {
    path.name: path
    for path in (STATIC / "page.css", STATIC / "theme.js", *sorted((FOLDER / "static").iterdir()))
}
MOST_BYTES = 8 * 1024 * 1024
"""Of a form with a long conversation."""


async def serve_review(
    folder: Path,
    replaced: Path | None,
    *,
    port: int = 8780,
    token: str | None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """
    Serve the suite in *folder* until cancelled; *ready* is told the address.

    Args:
        folder: The suite.
        replaced: The list of what was replaced; None looks beside the suite. Without one nothing is marked.
        port: 0 takes any free one.
        token: What whoever wants to see it has to show; None lets in everybody who reaches the address.
        ready: Called once the pages are there.

    Raises:
        InputError: there is no suite, or nobody can listen there.
    """
    pages = ReviewPages(Suite(folder), replaced or replaced_path(folder), token, random.Random())
    await serve(pages.app(), "127.0.0.1", port, ready=None if ready is None else lambda at: ready(f"{at}/"))


class ReviewPages:
    """The web application over a suite."""

    def __init__(self, suite: Suite, replaced: Path, token: str | None, rng: random.Random) -> None:
        """
        Raises:
            InputError: the list of what was *replaced* can't be read.
        """
        self._suite = suite
        self._path = replaced
        self._listed = read_replaced(replaced)
        self._token = token
        self._rng = rng

    def app(self) -> web.Application:
        app = new_app(
            error=self._error,
            policy=content_policy(),
            let_in=self._let_in,
            # With "no-referrer" browsers would send forms from "null", and no page of ours could be told.
            referrer="same-origin",
            most_bytes=MOST_BYTES,
        )
        add_assets(app, "", lambda name: _FILES[name].read_bytes() if name in _FILES else None)
        app.router.add_get("/", self._list)
        app.router.add_get("/conversation/{id}", self._conversation)
        app.router.add_post("/conversation/{id}", self._change)
        app.router.add_post("/check", self._check)
        return app

    def _let_in(self, request: web.Request) -> web.Response | None:
        if request.path.startswith("/static/"):
            return None
        reason = "open the link that replay collect printed: it holds the token to see the suite"
        return let_in_by_token(request, self._token, "replay-review", reason)

    def _error(self, failure: Failure) -> web.Response:
        return html(self._page("error.html", failure=failure), failure.status, failure.headers)

    def _page(self, template: str, **content: Any) -> str:
        entries = self._suite.entries()
        return (
            _environment()
            .get_template(template)
            .render(
                stamp=_stamp(),
                name=self._suite.folder.absolute().name,
                entries=entries,
                counts=Counter(entry.status for entry in entries),
                **content,
            )
        )

    async def _list(self, request: web.Request) -> web.Response:
        values = {id: listed for id, (_, listed) in self._listed.items()}
        return html(self._page("list.html", values=values, has_list=self._path.exists()))

    async def _conversation(self, request: web.Request) -> web.Response:
        return html(self._conversation_page(self._entry(request), note=request.query.get("note", "")[:200]))

    def _entry(self, request: web.Request) -> SuiteEntry:
        entry = self._suite.find(request.match_info["id"])
        if entry is None:
            raise web.HTTPNotFound(reason="there is no such conversation in this suite")
        return entry

    def _conversation_page(
        self,
        entry: SuiteEntry,
        *,
        typed: Mapping[str, str] | None = None,
        problems: Mapping[str, str] | None = None,
        note: str = "",
    ) -> str:
        was, values = self._listed.get(entry.conversation.id, ("", []))
        ids = [one.conversation.id for one in self._suite.entries()]
        at = ids.index(entry.conversation.id)
        return self._page(
            "conversation.html",
            entry=entry,
            conversation=entry.conversation,
            was=was,
            values=values,
            kinds=KINDS,
            typed=typed or {},
            problems=problems or {},
            note=note,
            before=ids[at - 1] if at else None,
            after=ids[at + 1] if at + 1 < len(ids) else None,
            marked=lambda text: marked_pieces(text, values),
            expected=expectations_text,
        )

    async def _change(self, request: web.Request) -> web.Response:
        """Keep what the form says, and do what its button says."""
        entry = self._entry(request)
        async with body_in_time():
            form = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        action, _, which = form.get("do", "").partition(":")
        edited = apply_form(entry.conversation, form)
        problems = dict(edited.problems)
        conversation, note = edited.conversation, "saved"
        was, values = self._listed.get(conversation.id, ("", []))
        text = form.get("leak", "").strip()
        if not problems and action == "put-back" and which.isdecimal() and int(which) < len(values):
            note = f"put back: {values[int(which)].original}"
            conversation, values = put_back(conversation, values, int(which))
        elif not problems and (action == "replace" or (action == "enter" and text)):
            try:
                if not text or form.get("kind") not in KINDS:
                    raise ValueError("name the text and what it is")
                kind = cast(Kind, form["kind"])
                conversation, values = replace_everywhere(conversation, values, text, kind, self._rng)
                note = f"replaced {values[-1].count} times: {values[-1].replacement}"
            except ValueError as error:
                problems["leak"] = str(error)
        if problems:
            return html(self._conversation_page(entry, typed=form, problems=problems), 422)
        statuses = {"accept": "accepted", "drop": "dropped", "reopen": "open"}
        self._suite.keep(conversation, cast(Any, statuses.get(action, entry.status)), edited.key_turns)
        if conversation.id in self._listed and values != self._listed[conversation.id][1]:
            self._listed[conversation.id] = (was, list(values))
            write_replaced(self._path, [(id, *listed) for id, listed in self._listed.items()])
        if action in ("accept", "drop"):
            raise web.HTTPSeeOther(self._next_open(conversation.id))
        raise web.HTTPSeeOther(f"/conversation/{quote(conversation.id, safe='')}?note={quote(note)}")

    def _next_open(self, id: str) -> str:
        """
        Return the address of the next conversation that nobody has decided on, the list if there is none.
        """
        waiting = [one.conversation.id for one in self._suite.entries() if one.status == "open"]
        following = [one for one in waiting if one > id] or waiting
        return f"/conversation/{quote(following[0], safe='')}" if following else "/"

    async def _check(self, request: web.Request) -> web.Response:
        """Say what is wrong with an ``expect`` while it is typed."""
        async with body_in_time():
            form = await request.post()
        try:
            count = len(expectations_in(str(form.get("expect", ""))))
        except ValueError as error:
            return web.json_response({"problem": str(error)})
        return web.json_response({"problem": None, "checks": count})


@cache
def _environment() -> Environment:
    made = make_environment(FOLDER / "templates")
    made.filters["as_json"] = lambda value: json.dumps(value, ensure_ascii=False)
    return made


@cache
def _stamp() -> str:
    return stamp_of(_FILES.values())
