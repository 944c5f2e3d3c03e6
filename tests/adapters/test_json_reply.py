"""What a path may make of a reply."""

from __future__ import annotations

import pytest

from replay import AdapterReplyError
from replay_adapters import json_reply
from replay_adapters.json_reply import ReplyPath


class Reply:
    place = "http://127.0.0.1/chat"
    status = 200

    def excerpt(self) -> str:
        return "{}"


def repeated(step: str, times: int, last: str = "@") -> str:
    return " | ".join([*[step] * times, last])


@pytest.mark.parametrize(
    "path",
    [
        repeated("[@, @]", 40, "to_string(@)"),
        repeated("{a: @, b: @}", 40, "to_string(@)"),
        repeated("[@, @][]", 40),
    ],
    ids=["lists", "objects", "flattened"],
)
def test_a_path_that_doubles_a_reply_again_and_again_is_a_bad_reply(path, monkeypatch):
    """Written out, these are 2 to the power of 40 texts: without a limit, no test would see the end of it."""
    monkeypatch.setattr(json_reply, "LARGEST_RESULT", 10_000)
    with pytest.raises(AdapterReplyError, match="it makes more than 10,000 characters of the reply"):
        ReplyPath(path, "answer").text(Reply(), {"text": "Ann."})


def test_what_is_merely_large_is_found():
    items = [{"text": "Ann " * 100, "n": [n]} for n in range(20_000)]
    path = ReplyPath("items[*].[text, n][] | [0]", "answer")

    assert path.text(Reply(), {"items": items}) == "Ann " * 100


def test_a_list_of_as_many_numbers_as_fit_in_the_longest_reply_is_not_too_large():
    assert json_reply.LARGEST_RESULT >= json_reply.OTHER_VALUE * 16 * 1024 * 1024 // 2
