"""Exports of Slack: folders and archives in the shape of published ones."""

from __future__ import annotations

import json
import zipfile

import pytest

from replay.core.errors import DatasetError
from replay.datasets.loading import expand, read_conversations
from replay.datasets.slack import SlackReader, is_slack_export
from tests.datasets.files import pairs

USERS = [
    {"id": "U1", "name": "ann.lee", "real_name": "ann lee", "profile": {"display_name": "ann"}},
    {"id": "U2", "name": "rav1", "profile": {"display_name": "rav1"}},
    {"id": "UB", "name": "helpbot", "real_name": "HelpBot", "is_bot": True},
]
ASKED = {"type": "message", "user": "U1", "ts": "1704100000.000100", "thread_ts": "1704100000.000100"}
BOT = {"type": "message", "user": "UB", "bot_id": "B1", "thread_ts": "1704100000.000100"}
DAYS = {
    "help/2024-01-01.json": [
        {"subtype": "channel_join", "user": "U1", "text": "<@U1> has joined", "ts": "1704000000.1"},
        ASKED | {"text": "<@UB>: where is <@U2>'s laptop? &lt;urgent&gt;"},
        {"subtype": "bot_message", "bot_id": "B9", "username": "CI", "text": "red", "ts": "1704100001.1"},
        BOT | {"text": "See <https://x.com/it|the portal>.", "ts": "1704100060.0002"},
    ],
    "help/2024-01-02.json": [
        ASKED | {"text": "And <#C2|random>, <!here>?", "ts": "1704186400.0001", "files": [{"id": "F1"}]},
        BOT | {"text": "", "attachments": [{"fallback": "Soon."}], "ts": "1704186460.0001"},
    ],
    "random/2024-01-02.json": [
        {"user": "U2", "text": "Coffee?", "ts": "1704186400.3", "thread_ts": "1704186400.3"},
        {"user": "U1", "text": "Yes!", "ts": "1704186401.3", "thread_ts": "1704186400.3"},
    ],
    "D01/2024-01-03.json": [
        {"user": "U1", "text": "Wifi?", "ts": "1704272800.1"},
        {"user": "UB", "text": "Ask the desk.", "ts": "1704272801.1"},
    ],
}  # fmt: skip


@pytest.fixture
def export(tmp_path):
    return written(tmp_path / "export", DAYS)


def written(folder, days):
    lists = {"users.json": USERS, "dms.json": [{"id": "D01", "members": ["U1", "UB"]}]}
    lists["channels.json"] = [{"id": "C1", "name": "help"}, {"id": "C2", "name": "random"}]
    for name, content in {**lists, **days}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), "utf-8")
    return folder


def archive(folder, path, below=""):
    with zipfile.ZipFile(path, "w") as packed:
        for file in sorted(folder.rglob("*.json")):
            packed.write(file, f"{below}{file.relative_to(folder)}")
    return path


def test_a_thread_that_a_bot_answers_is_a_conversation_across_days(export):
    direct, thread = SlackReader().read(export)
    assert thread.id == "help-1704100000.000100"
    assert pairs(thread) == [
        ("where is @rav1's laptop? <urgent>", "See the portal (https://x.com/it)."),
        ("And #random, @here?", "Soon."),
    ]
    assert thread.metadata["left_out"] == [None, {"file": 1}]
    assert thread.metadata["timestamps"] == [1704100000.0001, 1704186400.0001]
    assert (direct.id, pairs(direct)) == ("D01-2024-01-03", [("Wifi?", "Ask the desk.")])


@pytest.mark.parametrize("below", ["", "acme export/"])
def test_an_archive_is_read_as_it_was_downloaded(export, tmp_path, below):
    packed = archive(export, tmp_path / "export.zip", below)
    assert list(SlackReader().read(packed)) == list(SlackReader().read(export))


def test_folder_and_archive_are_found_out(export, tmp_path):
    packed = archive(export, tmp_path / "e.zip")
    for pattern in ("export", "e.zip"):
        paths = expand([pattern], tmp_path)
        assert len(list(read_conversations(paths, reader=None, on_bad=None, limit=None))) == 2
    assert not is_slack_export(export / "help")
    with pytest.raises(DatasetError, match="is a folder"):
        expand(["export/help"], tmp_path)
    packed.write_bytes(packed.read_bytes()[:-30])
    with pytest.raises(DatasetError, match="zip archive"):
        list(read_conversations([packed], reader=None, on_bad=None, limit=None))


@pytest.mark.parametrize("name", ["ann", "ann lee", "ann.lee", "U1"])
def test_people_may_be_named_who_answer_and_other_bots_are_left_out(export, name):
    (found,) = SlackReader(agents=[name]).read(export)
    assert pairs(found) == [("Coffee?", "Yes!")]


def test_only_the_named_channels_are_read(export):
    assert [one.id for one in SlackReader(channels=["help"]).read(export)] == ["help-1704100000.000100"]


def test_a_day_that_cannot_be_read_is_told_and_the_others_are_read(export):
    (export / "help" / "2024-01-02.json").write_text('[{"text": "no time"}]', "utf-8")
    _, bad, thread = SlackReader().read(export)
    assert str(bad).startswith(str(export / "help" / "2024-01-02.json"))
    assert "ts" in str(bad)
    assert len(thread.turns) == 1


def test_an_export_without_an_assistant_says_how_to_name_one(export):
    with pytest.raises(DatasetError, match="agents"):
        list(SlackReader(agents=["nobody"]).read(export))


def test_what_is_no_export_is_told(tmp_path):
    (tmp_path / "a.json").write_text("[]")
    for path, message in (
        (tmp_path, "no export"),
        (tmp_path / "a.json", "no export"),
        (tmp_path / "b", "no such"),
    ):
        with pytest.raises(DatasetError, match=message):
            list(SlackReader().read(path))


def test_a_thread_that_began_before_the_export_is_read_from_its_replies(tmp_path):
    replies = [
        {"user": "UB", "text": "Hello.", "ts": "10.0", "thread_ts": "1.0"},
        {"user": "U1", "text": "Who?", "ts": "11.0", "thread_ts": "1.0"},
        {"user": "UB", "text": "Me.", "ts": "12.0", "thread_ts": "1.0"},
    ]
    (found,) = SlackReader().read(written(tmp_path / "e", {"help/2024-01-09.json": replies}))
    assert (found.background, pairs(found)) == ("Hello.", [("Who?", "Me.")])
