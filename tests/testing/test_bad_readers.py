"""The contract tells the author of a bad reader what to do."""

from __future__ import annotations

from replay import Conversation, DatasetError, Turn, read_whole
from replay.testing import ReaderContract
from tests.testing.checking import bad_ones, said


class Lines:
    """A good reader of a question a line, but for what is put in its place."""

    def recognizes(self, path, head):
        return path.suffix == ".lines"

    def read(self, path):
        for number, line in enumerate(self.text(path).splitlines(), 1):
            yield self.made(path, number, line)

    def text(self, path):
        return read_whole(path).decode()

    def made(self, path, number, line):
        if not line.endswith("?"):
            return DatasetError("is no question", path=str(path), line=number, field="question")
        return Conversation(id=f"{number}", turns=(Turn(id="1", question=line),))


def reader(**members):
    return type("Bad", (Lines,), members)()


def raises(self, path):
    for found in Lines().read(path):
        if isinstance(found, DatasetError):
            raise found
        yield found


@bad_ones(
    {
        "it_is_a_reader": [(reader(read=None), "its read is None")],
        "it_is_installed_under_a_name_and_needs_no_settings": [(reader(), "or set installed = False")],
        "it_reads_sound_conversations": [
            (reader(made=lambda *_: Conversation(id="a", turns=())), "has no turns"),
            (reader(made=lambda *_: {}), "yield replay.Conversation"),
        ],
        "it_opens_nothing_before_it_is_asked": [
            (reader(text=lambda self, path: path.read_text()), "DatasetError")
        ],
        "it_can_be_left_half_way": [(reader(read=lambda self, path: iter([1, 2])), "must be a generator")],
        "a_bad_conversation_is_a_value_and_the_others_are_read": [
            (reader(read=raises), "yield the error, don't raise it"),
            (
                reader(made=lambda self, path, number, line: Conversation(id=line, turns=())),
                "yield a replay.DatasetError in its place",
            ),
        ],
        "a_folder_is_named_as_one": [(reader(text=lambda self, path: ""), "raise replay.DatasetError")],
        "other_encodings_are_named": [(reader(text=lambda self, path: "?"), "raise replay.DatasetError")],
        "a_byte_order_mark_changes_nothing": [
            (reader(text=lambda self, path: path.read_text()), "which drops it")
        ],
        "windows_line_ends_change_nothing": [
            (reader(text=lambda self, path: path.read_bytes().decode().replace("\r", "!?")), "strip lines")
        ],
        "it_is_the_only_one_to_recognize_its_files": [
            (reader(recognizes=lambda *_: False), "recognized = False")
        ],
    }
)
async def test_a_bad_reader(test, bad, words, tmp_path):
    good, one_bad = tmp_path / "good.lines", tmp_path / "bad.lines"
    good.write_text("Who?\nWhy?\n")
    one_bad.write_text("Who.\nWhy?\n")
    given = {"reader": bad, "good": good, "one_bad": one_bad, "tmp_path": tmp_path}
    assert words in await said(ReaderContract(), test, **given)
