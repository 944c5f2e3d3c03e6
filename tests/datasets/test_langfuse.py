"""Exports of Langfuse, by rows in their shapes."""

from __future__ import annotations

import csv
import json

import pytest

from replay.core.errors import DatasetError
from replay.core.message import Message, ToolCall
from replay.datasets.trace_exports import LangfuseReader
from tests.data_tables import from_table
from tests.datasets.files import contract, fault, ids, json_file, json_lines_file, only, pairs


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


WHO, OKAFOR, WHEN, THEN = user("Who?"), assistant("Okafor."), user("When?"), assistant("In 1987.")
BOTH = [("Who?", "Okafor."), ("When?", "In 1987.")]


def generation(number, sent, answer, session="s", **more):
    """As the export to blob storage writes it: input and output are text."""
    return {
        "id": f"o{number}",
        "trace_id": f"t{number}",
        "session_id": session,
        "type": "GENERATION",
        "name": "answer",
        "start_time": f"2024-05-29 13:46:{number:02}.963000",
        "end_time": f"2024-05-29 13:46:{number + 1:02}.000000",
        "input": json.dumps(sent),
        "output": json.dumps(answer),
        **more,
    }


FIRST, SECOND = generation(1, [WHO], OKAFOR), generation(3, [WHO, OKAFOR, WHEN], THEN)
CAMEL = {"trace_id": "traceId", "session_id": "sessionId", "start_time": "startTime", "end_time": "endTime"}


def camel(row):
    """As the interface and its API have it: names in the other style, and values instead of texts."""
    named = {CAMEL.get(name, name): value for name, value in row.items()}
    return named | {name: json.loads(row[name]) for name in ("input", "output")}


TestLangfuseReader = contract(
    LangfuseReader(),
    "o.jsonl",
    [FIRST, FIRST | {"session_id": "b"}],
    [
        (FIRST | {"input": '[{"role": "nobody", "content": "x"}]', "session_id": "a"}),
        FIRST | {"session_id": "b"},
    ],
)


def trace(row, **more):
    return {"id": row["trace_id"], "timestamp": row["start_time"], "sessionId": "s"} | more


def downloaded(row):
    """The trace's own input counts only where it has no generation."""
    return {"trace": trace(row, input="Not this.", observations=[]), "observations": [camel(row)]}


def alone(row):
    """A trace that a session lists, with the ids of what it has observed."""
    own = {name: json.loads(row[name]) for name in ("input", "output")}
    return trace(row, sessionId=None, observations=["o1"], **own)


def csv_file(path, rows):
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    "write",
    [
        lambda path: json_lines_file(path, [SECOND, FIRST]),
        lambda path: json_file(path, [FIRST, SECOND]),
        lambda path: json_file(path, {"data": [camel(FIRST), camel(SECOND)], "meta": {"page": 1}}),
        lambda path: json_lines_file(path, [camel(FIRST), camel(SECOND)]),
        lambda path: csv_file(path.with_suffix(".csv"), [FIRST, SECOND]),
        lambda path: json_file(
            path, [trace(one, observations=[camel(one) | {"sessionId": None}]) for one in (FIRST, SECOND)]
        ),
        lambda path: json_lines_file(path, [downloaded(one) for one in (FIRST, SECOND)]),
        lambda path: json_file(path, {"id": "s", "traces": [alone(one) for one in (FIRST, SECOND)]}),
    ],
    ids=["lines", "list", "page", "camel case", "csv", "traces", "trace and observations", "session"],
)
def test_a_session_is_a_conversation_in_whatever_shape_it_is_kept(tmp_path, write):
    path = write(tmp_path / "export.json")

    assert pairs(only(LangfuseReader(), path)) == BOTH
    assert ids([path]) == ["s"]


def test_times_are_kept(tmp_path):
    found = only(LangfuseReader(), json_lines_file(tmp_path / "o.jsonl", [FIRST]))

    assert found.metadata == {"timestamps": [FIRST["start_time"]], "answer_timestamps": [FIRST["end_time"]]}


def test_without_a_session_a_trace_is_a_conversation(tmp_path):
    rows = [one | {"session_id": ""} for one in (FIRST, SECOND)]

    assert ids([json_lines_file(tmp_path / "o.jsonl", rows)]) == ["t1", "t3"]


def test_what_is_no_call_of_a_model_is_passed_over(tmp_path):
    span = FIRST | {"id": "x", "type": "SPAN", "input": '{"size": 42}'}

    assert pairs(only(LangfuseReader(), json_lines_file(tmp_path / "o.jsonl", [span, FIRST]))) == BOTH[:1]


def test_a_name_tells_the_calls_that_answer_from_others(tmp_path):
    routing = generation(1, [user("Which tool for: Who?")], assistant("none"), name="route")
    path = json_lines_file(tmp_path / "o.jsonl", [routing, generation(2, [WHO], OKAFOR)])

    assert pairs(only(LangfuseReader(name="answer"), path)) == BOTH[:1]
    with pytest.raises(DatasetError, match='no observation of the type GENERATION called "anwser"'):
        list(LangfuseReader(name="anwser").read(path))


def test_calls_of_tools_are_steps(tmp_path):
    call = {"id": "k", "type": "function", "function": {"name": "stock", "arguments": '{"size":42}'}}
    calling = assistant(None, tool_calls=[call])
    result = {"role": "tool", "tool_call_id": "k", "content": "3 pairs"}
    rows = [generation(1, [WHO], calling), generation(2, [WHO, calling, result], OKAFOR)]
    (turn,) = only(LangfuseReader(), json_lines_file(tmp_path / "o.jsonl", rows)).turns

    assert turn.steps == (
        Message(role="assistant", tool_calls=(ToolCall(id="k", name="stock", arguments='{"size":42}'),)),
        Message(role="tool", text="3 pairs", tool_call_id="k", name="stock"),
    )
    assert turn.gold_answer == "Okafor."


@from_table
def test_a_fault_names_line_observation_and_field(tmp_path, row, message):
    assert fault(LangfuseReader(), json_lines_file(tmp_path / "o.jsonl", [FIRST | row])).startswith(message)


def test_an_export_without_calls_says_so(tmp_path):
    path = json_lines_file(tmp_path / "o.jsonl", [FIRST | {"type": "SPAN"}])

    with pytest.raises(DatasetError, match="has no observation of the type GENERATION"):
        list(LangfuseReader().read(path))


def test_scores_of_a_trace_are_kept_once(tmp_path):
    """Of categories the word, as an export has it beside a number."""
    scores = [
        {"name": "user-feedback", "value": 0, "dataType": "NUMERIC"},
        {"name": "tone", "value": 1, "stringValue": "rude", "dataType": "CATEGORICAL"},
        {"value": 3},
    ]
    trace = {
        "id": "t",
        "sessionId": "s",
        "timestamp": "2024-05-29T13:46:00Z",
        "observations": [camel(FIRST), camel(SECOND)],
        "scores": scores,
    }
    found = only(LangfuseReader(), json_file(tmp_path / "trace.json", trace))
    assert found.metadata["scores"] == [
        {"name": "user-feedback", "value": 0},
        {"name": "tone", "value": "rude"},
    ]
