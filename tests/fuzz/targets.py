"""
What bad input is given to, and what must hold of it: nothing but our own errors, and nothing lost.

Each target takes bytes and returns quietly, or fails with an ``AssertionError`` or with the exception that a
user would have seen as a traceback.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.core.asking.prompt import first_object, json_problem
from replay.core.conversation import Conversation
from replay.core.errors import DatasetError, ReplayError
from replay.core.settings.plugins import available, load
from replay.datasets.loading import read_conversations
from replay.datasets.native import native_line
from replay.datasets.reader import Reader
from replay.play.load.arrivals import read_trace
from replay.scenario.assembly import assemble
from replay.scenario.reading import read_scenario
from replay.scorers.judges.reading import read_match, read_rating, read_yes_no
from replay.store import schema
from replay.store.rows import insert_conversation
from tests.fuzz.inputs import as_json

ROOT = Path(__file__).parents[2]
ODD = "a\u202e\u05d0 \u2028 \\ \" ' <b> \u0001 \U0001f600 caf\u00e9"
"""A text that has to come through everything as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something that reads what strangers wrote."""

    seeds: Sequence[bytes]
    """Good inputs."""
    tried: Callable[[bytes, Path], None]
    """Tries an input; the folder is for its file."""


# Data readers ------------------------------------------------------------------------------------------


def _native(n: int) -> Any:
    turn = {"question": f"Who {n}?", "gold_answer": ODD, "standalone": "Who?", "gold_passages": ["p"]}
    passages = [{"id": "p", "text": ODD, "title": "t"}]
    turns = [turn, {"id": "x", "question": "And?", "timestamp": "2024-05-01T12:00:00Z"}]
    return {"id": f"c{n}", "title": ODD, "turns": turns, "passages": passages, "metadata": {"k": [1, ODD]}}


def _chat(n: int) -> Any:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": f"Who {n}?", "timestamp": 12.5},
        {"role": "assistant", "content": [{"type": "text", "text": ODD}]},
        {"role": "tool", "content": "x"},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": None, "refusal": "No."},
    ]
    return {"id": n, "messages": messages, "metadata": {"k": 1}}


def _lines(values: Sequence[Any]) -> bytes:
    return b"".join(as_json(value) + b"\n" for value in values)


def _canard(dialog: str, number: int, question: str, history: Sequence[str]) -> Any:
    row = {"History": history, "QuAC_dialog_id": dialog, "Question": question, "Question_no": number}
    return {**row, "Rewrite": f"{question} T?"}


_QUAC_PARAGRAPH = {
    "id": "C_1",
    "context": f"{ODD} CANNOTANSWER",
    "qas": [
        {
            "id": "C_1_q#0",
            "question": "Who?",
            "answers": [{"text": "A", "answer_start": 0}, {"text": "CANNOTANSWER"}],
            "orig_answer": {"text": "A", "answer_start": 0},
            "yesno": "x",
            "followup": "y",
        }
    ],
}
_COQA_STORY = {
    "id": "s1",
    "story": ODD,
    "source": "cnn",
    "questions": [{"input_text": "Who?", "turn_id": 1}, {"input_text": "And?", "turn_id": 2}],
    "answers": [{"input_text": "A", "turn_id": 1}, {"input_text": "unknown", "turn_id": 2}],
    "additional_answers": {"0": [{"input_text": "B", "turn_id": 1}]},
}
_CANARD_ROWS = [
    _canard("C_1", 1, "Who?", ["T", "S"]),
    _canard("C_1", 2, "And?", ["T", "S", "Who?", ODD]),
    _canard("C_2", 1, "Why?", ["U", "S"]),
]
_CAST_TOPIC = {
    "number": 106,
    "title": "T",
    "description": "D",
    "turn": [
        {
            "number": 1,
            "raw_utterance": "Who?",
            "manual_rewritten_utterance": "Who T?",
            "automatic_rewritten_utterance": "Who?",
            "passage": ODD,
            "canonical_result_id": "M_1",
            "passage_id": 3,
        }
    ],
}
_CAST_PATH = {
    "number": 132,
    "turn": [{"number": "1-1", "utterance": "Who?", "response": ODD, "provenance": ["M_1"]}],
}
_IKAT_TOPIC = {
    "number": "9-1",
    "title": "T",
    "ptkb": {"1": "I am old.", "2": ODD},
    "turns": [
        {
            "turn_id": 1,
            "utterance": "Who?",
            "resolved_utterance": "Who T?",
            "response": ODD,
            "response_provenance": ["M_1"],
            "ptkb_provenance": [2],
        }
    ],
}
_MT_BENCH = {"question_id": 81, "category": "w", "turns": ["Who?", "And?"], "reference": [ODD, None]}
_LONGMEMEVAL = {
    "question_id": "q1",
    "question_type": "multi-session",
    "question": "Who?",
    "answer": 2,
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_dates": ["2023/05/20 (Sat) 02:21"],
    "haystack_session_ids": ["a"],
    "haystack_sessions": [[{"role": "user", "content": ODD, "has_answer": True}]],
    "answer_session_ids": ["a"],
}
_LOCOMO = {
    "sample_id": "conv-1",
    "qa": [{"question": "Who?", "answer": ODD, "evidence": ["D1:1"], "category": 1}],
    "conversation": {
        "speaker_a": "Ann",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": ODD, "blip_caption": "a dog"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    },
}
_OTLP_MESSAGES = as_json([{"role": "user", "parts": [{"type": "text", "content": "Who?"}]}]).decode()
_OTLP_SPAN = {
    "traceId": "a1",
    "startTimeUnixNano": "7",
    "attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": _OTLP_MESSAGES}}],
}
_OTLP = {"resourceSpans": [{"scopeSpans": [{"spans": [_OTLP_SPAN]}]}]}
_LANGFUSE = {
    "id": "o1",
    "trace_id": "t1",
    "session_id": "s",
    "type": "GENERATION",
    "start_time": "2024-05-29 13:46:19",
    "input": as_json([{"role": "user", "content": ODD}]).decode(),
    "output": {"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": ODD}]}}]},
}
_LANGFUSE_TRACE = {"id": "t1", "sessionId": "s", "observations": [_LANGFUSE], "input": "Who?"}
_LANGSMITH = {
    "id": "r1",
    "run_type": "llm",
    "trace_id": "t1",
    "dotted_order": "1",
    "inputs": {"messages": [[{"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": ODD}}]]},
    "outputs": {"generations": [[{"text": ODD}]]},
    "extra": {"metadata": {"thread_id": "c"}},
}
_COMMENT = {"author_id": 1, "public": True, "plain_body": ODD, "created_at": "2024-05-01T10:00:00Z"}
_ZENDESK = {"id": 1, "requester_id": 1, "subject": ODD, "comments": [_COMMENT, _COMMENT | {"author_id": 2}]}
_PART = {
    "author": {"type": "user"},
    "part_type": "comment",
    "body": f"<p>{ODD}</p>",
    "created_at": 1734537243,
}
_INTERCOM = {"id": "1", "source": _PART, "conversation_parts": {"conversation_parts": [_PART]}}
_FRESHDESK = {
    "id": 1,
    "description": "<p>Who?</p>",
    "conversations": [{"incoming": False, "private": False, "body_text": ODD}],
}


def _slack(*messages: dict[str, Any]) -> bytes:
    """Return the archive of an export with one channel and one day."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("users.json", as_json([{"id": "UB", "is_bot": True}]))
        archive.writestr("channels.json", as_json([{"id": "C1", "name": "help"}]))
        archive.writestr("help/2024-01-01.json", as_json(messages))
    return packed.getvalue()


_QUAC_ARTICLE = {"title": "T", "section_title": "S", "background": "B", "paragraphs": [_QUAC_PARAGRAPH]}
_CSV = (
    "conversation,turn,question,answer,passage,title\n"
    'a,1,Who?,"A, ""B""",P,T\n'
    "a,2,And?,,P,\n"
    'b,1,"Why\nnow?",C,,\n'
)

GOOD_DATA: Mapping[str, Sequence[bytes]] = {
    "native": [_lines([_native(1), _native(2)])],
    "chat": [_lines([_chat(1), _chat(2)])],
    "mtbench": [_lines([_MT_BENCH])],
    "otlp": [_lines([_OTLP])],
    "langfuse": [_lines([_LANGFUSE]), as_json(_LANGFUSE_TRACE)],
    "langsmith": [_lines([_LANGSMITH]), as_json([{"inputs": "Who?", "outputs": {"answer": ODD}}])],
    "quac": [as_json({"data": [_QUAC_ARTICLE]})],
    "coqa": [as_json({"version": "1.0", "data": [_COQA_STORY]})],
    "canard": [as_json(_CANARD_ROWS)],
    "cast": [as_json([_CAST_TOPIC]), as_json([_CAST_PATH, _CAST_PATH])],
    "ikat": [as_json([_IKAT_TOPIC])],
    "zendesk": [_lines([_ZENDESK, _ZENDESK | {"id": 2}]), as_json({"tickets": [_ZENDESK]})],
    "intercom": [_lines([_INTERCOM]), as_json({"conversations": [_INTERCOM]})],
    "freshdesk": [_lines([_FRESHDESK])],
    "slack": [
        _slack(
            {"ts": "1.0", "user": "U1", "text": f"<@UB> {ODD}", "thread_ts": "1.0"},
            {"ts": "2.0", "user": "UB", "text": ODD, "thread_ts": "1.0"},
        )
    ],
    "longmemeval": [as_json([_LONGMEMEVAL]), _lines([_LONGMEMEVAL])],
    "locomo": [as_json([_LOCOMO])],
    "csv": [_CSV.encode(), _CSV.replace("\n", "\r\n").encode()],
}  # fmt: skip
"""Good files of each built-in format; a reader that is added later is tried with all of them."""

_LINE_BY_LINE = ("native", "chat", "mtbench")
_ITEM_BY_ITEM = ("coqa", "cast", "ikat")


def _reader_target(name: str) -> Target:
    reader: Reader = load("readers", name, Path())()
    seeds = GOOD_DATA.get(name) or [seed for seeds in GOOD_DATA.values() for seed in seeds]

    def tried(content: bytes, folder: Path) -> None:
        path = folder / "data"
        path.write_bytes(content)
        reader.recognizes(path, content[:65536])
        bad: list[DatasetError] = []
        conversations = list(read_conversations([path], reader=reader, on_bad=bad.append, limit=None))
        assert conversations or bad, "nothing was read and nothing was reported"
        _check_nothing_is_lost(name, content, len(conversations), len(bad))
        for error in bad:
            assert str(error).startswith(str(path)), "the error doesn't say where"
            assert len(str(error)) < 20_000 + len(str(path)), "the error is longer than anybody reads"
        for conversation in conversations:
            _check_round_trip(conversation)

    return Target(seeds=seeds, tried=tried)


def _check_nothing_is_lost(name: str, content: bytes, read: int, reported: int) -> None:
    """Each line or item was read or reported."""
    if name in _LINE_BY_LINE:
        text = content.removeprefix(b"\xef\xbb\xbf")
        expected = sum(1 for line in text.split(b"\n") if line.strip(b" \t\r\n"))
    elif name in _ITEM_BY_ITEM:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return
        items = value.get("data") if isinstance(value, dict) else value
        expected = len(items) if isinstance(items, list) else 0
    else:
        return
    whole_file = reported == 1 and read == 0
    assert whole_file or read + reported >= expected, f"{expected} there, {read} read, {reported} reported"


def _check_round_trip(conversation: Conversation) -> None:
    row = insert_conversation(0, conversation).values
    assert schema.from_json(row[-1], Conversation) == conversation, "the database changes it"
    try:
        line = native_line(conversation)
    except ValueError:
        return  # half a surrogate pair, or a number that JSON has none for: an error that is told
    assert json.loads(line)["id"] == conversation.id


# Scenarios and traces ----------------------------------------------------------------------------------


def _scenario_seeds() -> list[bytes]:
    names = ("quickstart", "augment", "http", "openai", "judges", "metrics", "websocket", "command")
    return [path.read_bytes() for name in names if (path := ROOT / "scenarios" / f"{name}.yaml").is_file()]


def _read_scenario(content: bytes, folder: Path) -> None:
    path = folder / "scenario.yaml"
    path.write_bytes(content)
    try:
        read_scenario(path)
    except ReplayError as error:
        _check_message(error)


def _assemble(content: bytes, folder: Path) -> None:
    path = folder / "scenario.yaml"
    path.write_bytes(content)
    try:
        assemble(read_scenario(path))
    except ReplayError as error:
        _check_message(error)


def _check_message(error: ReplayError) -> None:
    assert str(error).strip()
    assert "Traceback" not in str(error)
    assert len(str(error)) < 100_000


def _trace(content: bytes, folder: Path) -> None:
    path = folder / "trace"
    path.write_bytes(content)
    try:
        arrivals = list(read_trace(path))
    except DatasetError as error:
        _check_message(error)
    else:
        assert [a.at_s for a in arrivals] == sorted(a.at_s for a in arrivals)


_TRACES = [
    b"at_s,conversation,gaps_s\n0,a,1;2\n1.5,,\n2.5,b,[1]\n",
    _lines([{"at_s": 0, "conversation": "a", "gaps_s": [1, 2.5]}, {"at_s": "2024-05-01T12:00:00Z"}]),
    _lines([{"timestamp": 0, "input_length": 1, "output_length": 2}]),
    b"TIMESTAMP,ContextTokens\n2023-11-16 18:17:03.9799600,1\n2023-11-16 18:17:04.9799600,1\n",
]


# Judges ------------------------------------------------------------------------------------------------

_JUDGED = [
    b"Yes, it does.",
    b"On a scale of 1 to 5: **Score: 4**/5",
    b'Here:\n```json\n{"verdict": "matching", "claims": [{"claim": "x", "supported": true}]}\n```',
    as_json({"claims": [{"claim": ODD, "supported": False}], "verdict": 1}),
    b"{" * 3_000,
    b'{"a":[' * 400 + b"1," * 300_000,
    b"score: " * 20_000,
    b"9" * 100_000 + b"/" + b"9" * 100_000,
]


def _judged(content: bytes, folder: Path) -> None:
    for text in {content.decode("utf-8", "replace"), content.decode("utf-8", "surrogateescape")}:
        read_yes_no(text)
        rating = read_rating(text, 1, 5)
        assert rating is None or rating.value == 0 or 1 <= rating.value <= 5
        read_match(text)
        first_object(text, ("verdict",))
        json_problem(text)


TARGETS: Mapping[str, Target] = {
    **{f"reader {name}": _reader_target(name) for name in available("readers")},
    "scenario": Target(seeds=_scenario_seeds(), tried=_read_scenario),
    "scenario assembled": Target(seeds=_scenario_seeds()[:2], tried=_assemble),
    "trace": Target(seeds=_TRACES, tried=_trace),
    "judge": Target(seeds=_JUDGED, tried=_judged),
}
