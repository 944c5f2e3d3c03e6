"""Runs of LangSmith and its data sets of chats, by rows in their shapes."""

from __future__ import annotations

import json

import pyarrow
import pyarrow.parquet
import pytest

from replay.core.errors import DatasetError
from replay.datasets.trace_exports import LangSmithReader
from tests.data_tables import from_table
from tests.datasets.files import contract, fault, ids, json_file, json_lines_file, only, pairs


def said(kind, text):
    """A message as LangChain keeps it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", kind], "kwargs": {"content": text}}


WHO, OKAFOR = said("HumanMessage", "Who?"), said("AIMessage", "Okafor.")
WHEN, THEN = said("HumanMessage", "When?"), said("AIMessage", "In 1987.")
BOTH = [("Who?", "Okafor."), ("When?", "In 1987.")]


def run(number, sent, answer, thread="c", **more):
    """A call of a model below a root run, which alone knows the thread."""
    return {
        "id": f"r{number}",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "start_time": f"2024-04-05T01:28:{number:02}.734491",
        "end_time": f"2024-04-05T01:28:{number + 1:02}.734491",
        "trace_id": f"t{number}",
        "parent_run_id": f"t{number}",
        "dotted_order": f"20240405T0128{number:02}734490Zt{number}.20240405T0128{number:02}734491Zr{number}",
        "inputs": {"messages": [sent]},
        "outputs": {"generations": [[{"text": answer["kwargs"]["content"], "message": answer}]]},
        "extra": {"metadata": {"thread_id": thread} if thread else {}},
        **more,
    }


def root(number, sent, answer, **more):
    named = {"id": f"t{number}", "parent_run_id": None, "run_type": "chain", "name": "chain"}
    return run(number, [], answer) | named | {"inputs": {"input": sent}, "outputs": {"output": answer}} | more


FIRST, SECOND = run(1, [WHO], OKAFOR), run(3, [WHO, OKAFOR, WHEN], THEN)


TestLangSmithReader = contract(
    LangSmithReader(),
    "runs.jsonl",
    [FIRST, run(5, [WHO], OKAFOR, "b")],
    [run(1, [{"role": "nobody"}], OKAFOR, "a"), run(5, [WHO], OKAFOR, "b")],
)


def parquet_file(path, rows):
    """As the bulk export writes it: what is no scalar is JSON text."""
    flat = [{k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()} for row in rows]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(flat), path)
    return path


OPENAI = [
    row | {"inputs": {"messages": sent, "model": "m"}, "outputs": {"choices": [{"message": answer}]}}
    for row, sent, answer in [
        (FIRST, [{"role": "user", "content": "Who?"}], {"role": "assistant", "content": "Okafor."}),
        (SECOND, [{"role": "user", "content": "When?"}], {"role": "assistant", "content": "In 1987."}),
    ]
]


@pytest.mark.parametrize("write", [json_lines_file, json_file, parquet_file])
@pytest.mark.parametrize("rows", [[SECOND, FIRST], OPENAI], ids=["LangChain", "OpenAI"])
def test_a_thread_is_a_conversation(tmp_path, write, rows):
    path = write(tmp_path / "runs", rows)
    found = only(LangSmithReader(), path)

    assert pairs(found) == BOTH
    assert found.metadata["timestamps"] == [FIRST["start_time"], SECOND["start_time"]]
    assert found.metadata["answer_timestamps"] == [FIRST["end_time"], SECOND["end_time"]]
    assert ids([path]) == ["c"]


@pytest.mark.parametrize("name", ["thread_id", "conversation_id", "session_id"])
def test_the_thread_of_any_run_is_that_of_its_trace(tmp_path, name):
    above = root(1, "Who?", OKAFOR, extra={"metadata": {name: "seven"}})
    rows = [above, run(1, [WHO], OKAFOR, None), run(3, [WHO], OKAFOR, None)]

    assert ids([json_lines_file(tmp_path / "runs.jsonl", rows)]) == ["seven", "t3"]


def test_runs_without_a_trace_are_conversations_of_their_own(tmp_path):
    rows = [run(1, [WHO], OKAFOR, trace_id=None), run(2, [WHO], OKAFOR, None, trace_id=None)]

    assert ids([json_lines_file(tmp_path / "runs.jsonl", rows)]) == ["c", "r2"]


def test_root_runs_count_only_where_no_call_of_a_model_does(tmp_path):
    above = root(1, "Who?", said("AIMessage", "Okafor, it seems."))
    alone, both = (
        json_lines_file(tmp_path / f"{n}.jsonl", rows) for n, rows in enumerate([[above], [above, FIRST]])
    )

    assert pairs(only(LangSmithReader(), alone)) == [("Who?", "Okafor, it seems.")]
    assert pairs(only(LangSmithReader(), both)) == BOTH[:1]


def test_a_graph_that_gives_back_all_that_was_said_says_it_once(tmp_path):
    graph = root(1, None, OKAFOR, inputs={"messages": [WHO]}, outputs={"messages": [WHO, OKAFOR]})
    later = graph | {
        "trace_id": "t2",
        "dotted_order": "20250405",
        "inputs": {"messages": [WHEN]},
        "outputs": {"messages": [WHO, OKAFOR, WHEN, THEN]},
    }

    assert pairs(only(LangSmithReader(), json_lines_file(tmp_path / "runs.jsonl", [graph, later]))) == BOTH


def test_a_name_tells_the_runs_that_answer_from_others(tmp_path):
    path = json_lines_file(
        tmp_path / "runs.jsonl", [run(1, [WHEN], THEN, name="route"), run(2, [WHO], OKAFOR)]
    )

    assert pairs(only(LangSmithReader(name="ChatOpenAI"), path)) == BOTH[:1]
    with pytest.raises(DatasetError, match='has no run called "ChatOpnAI"'):
        list(LangSmithReader(name="ChatOpnAI").read(path))


def test_an_example_of_a_data_set_is_a_conversation(tmp_path):
    chat = [
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Okafor."},
        {"role": "user", "content": "When?"},
    ]
    rows = [
        {"inputs": {"messages": chat}, "outputs": {"message": THEN}},
        {"inputs": {"question": "Why?"}, "outputs": {"answer": "So."}},
    ]
    path = json_lines_file(tmp_path / "examples.jsonl", rows)
    first, second = LangSmithReader().read(path)

    assert (pairs(first), pairs(second)) == (BOTH, [("Why?", "So.")])
    assert ids([path]) == ["examples.jsonl:1", "examples.jsonl:2"]


@from_table
def test_a_fault_names_line_and_field(tmp_path, row, message):
    path = json_lines_file(tmp_path / "runs.jsonl", [FIRST | row])

    assert fault(LangSmithReader(), path).startswith(f":1: {message}")


def test_an_export_without_calls_says_so(tmp_path):
    path = json_lines_file(tmp_path / "runs.jsonl", [FIRST | {"run_type": "tool"}])

    with pytest.raises(DatasetError, match="has no run of the type llm, and no root run"):
        list(LangSmithReader().read(path))


def test_feedback_on_a_root_run_is_the_conversations(tmp_path):
    stats = {"user_score": {"n": 1, "avg": 0.0}, "category": {"n": 1, "avg": None}}
    rows = [
        FIRST | {"id": "t1", "parent_run_id": None, "run_type": "chain", "feedback_stats": stats},
        FIRST,
        SECOND,
    ]
    found = only(LangSmithReader(), json_lines_file(tmp_path / "runs.jsonl", rows))
    assert found.metadata["scores"] == [{"name": "user_score", "value": 0.0}]
