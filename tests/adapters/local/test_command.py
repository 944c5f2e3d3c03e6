"""The ``command`` adapter: lines to a program and back, and what becomes of its processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from replay import (
    AdapterConnectionError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatRequest,
    Conversation,
    Exchange,
    Passage,
)
from replay.testing import FAIL, HANG, AdapterContract, entered
from replay_adapters.local.command import CommandAdapter, CommandSession
from tests.data_tables import from_table
from tests.waiting import until, until_async

TALK = Conversation(id="c", turns=(), passages=(Passage(id="1", text="One.", title="T"),))
REQUEST = ChatRequest(question="Q?", history=(Exchange(question="A?", answer="A."),), depth=2)

PREAMBLE = r"""
import json, os, signal, sys, time
def say(**value):
    os.write(1, json.dumps(value).encode() + b"\n")  # in one go, whatever other threads print
def asked():
    return map(json.loads, sys.stdin)
"""

IN_ORDER = f"""
before = {{}}
for body in asked():
    key = body.get("conversation")
    if body["question"] == {HANG!r}:
        time.sleep(3600)
    if body["question"] == {FAIL!r}:
        say(error="no")
        continue
    count = before.setdefault(key, 0) if "history" not in body else len(body["history"])
    if "history" not in body:
        before[key] += 1
    say(answer=f"{{body['id']}}: {{count}} before")
"""

OUT_OF_ORDER = f"""
import threading
def answer(body):
    if body["question"] == {HANG!r}:
        return
    if body["question"] == {FAIL!r}:
        say(error="no", conversation=body["conversation"])
        return
    time.sleep(0.01 * (hash(body["conversation"]) % 3))
    say(answer=f"{{body['id']}}: {{len(body['history'])}} before", conversation=body["conversation"])
for body in asked():
    threading.Thread(target=answer, args=[body], daemon=True).start()
"""

SEND = {"question": "{{question}}", "id": "{{conversation.id}}", "conversation": "{{session_id}}"}
WITH_HISTORY = {**SEND, "history": "{{history}}"}


def _adapter(folder: Path, program: str, **settings: Any) -> CommandAdapter:
    (folder / "bot.py").write_text(PREAMBLE + program, encoding="utf-8")
    settings = {"command": ("python", "bot.py"), "grace_s": 0.3} | settings
    return CommandAdapter(folder=folder, **settings)


KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "a process for each conversation": (IN_ORDER, {"send": WITH_HISTORY}),
    "a process that remembers": (IN_ORDER, {"send": SEND, "history": "server"}),
    "one process for all": (IN_ORDER, {"send": WITH_HISTORY, "per": "run"}),
    "one process that remembers all": (IN_ORDER, {"send": SEND, "per": "run", "history": "server"}),
    "one process that answers in any order": (OUT_OF_ORDER, {"send": WITH_HISTORY, "per": "run"}),
}


class TestTheContract(AdapterContract):
    @pytest.fixture(params=KINDS)
    def adapter(self, request: pytest.FixtureRequest, tmp_path: Path) -> CommandAdapter:
        program, settings = KINDS[request.param]
        return _adapter(tmp_path, program, **settings)


@asynccontextmanager
async def _asking(folder: Path, program: str, **settings: Any) -> AsyncIterator[CommandSession]:
    adapter = _adapter(folder, program, **settings)
    async with entered(adapter), adapter.session(TALK) as session:
        yield session


async def test_a_program_reads_question_history_and_id_by_default(tmp_path: Path) -> None:
    program = "for body in asked(): say(answer=repr(sorted(body.items())), docs=['One.'])"
    async with _asking(tmp_path, program, passages="docs") as session:
        first, second = await session.ask(REQUEST), await session.ask(REQUEST)

    assert first.text.startswith("[('conversation', '")
    assert first.text.endswith("('history', [{'question': 'A?', 'answer': 'A.'}]), ('question', 'Q?')]")
    assert first.text == second.text
    assert first.passages == (Passage(id="1", text="One."),)


async def test_any_text_comes_through_as_it_is(tmp_path: Path) -> None:
    question = "Zoë? \u2028 \ud800 \x00 مرحبا \n 🎻"
    program = "for body in asked(): say(answer=body['question'])"
    async with _asking(tmp_path, program) as session:
        reply = await session.ask(ChatRequest(question=question, history=(), depth=1))

    assert reply.text == question


async def test_it_runs_in_the_scenarios_folder_with_our_environment_and_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "here")
    program = "for _ in asked(): say(answer=' '.join([os.getcwd(), os.environ['OURS'], os.environ['MINE']]))"
    async with _asking(tmp_path, program, environment={"MINE": "too"}) as session:
        reply = await session.ask(REQUEST)

    assert reply.text == f"{tmp_path} here too"


async def test_no_shell_looks_at_the_arguments(tmp_path: Path) -> None:
    program = "for _ in asked(): say(answer=sys.argv[1])"
    command = ("python", "bot.py", "$(touch hacked); *")
    async with _asking(tmp_path, program, command=command) as session:
        assert (await session.ask(REQUEST)).text == "$(touch hacked); *"

    assert not (tmp_path / "hacked").exists()


async def test_a_program_in_the_scenarios_folder_is_found_by_its_path(tmp_path: Path) -> None:
    script = tmp_path / "bot"
    script.write_text(
        f'#!{sys.executable}\nfor line in open(0): print(\'{{"answer": "Yes."}}\', flush=True)\n'
    )
    script.chmod(0o755)
    async with _asking(tmp_path, "", command=("./bot",)) as session:
        assert (await session.ask(REQUEST)).text == "Yes."


@from_table
async def test_a_program_that_dies_says_how_and_why_and_is_started_again(
    death: str, said: str, tmp_path: Path
) -> None:
    program = f"""
for body in asked():
    if body["question"] == "die":
        {death}
    say(answer="Yes.")
"""
    async with _asking(tmp_path, program) as session:
        await session.ask(REQUEST)
        with pytest.raises(AdapterConnectionError, match=said) as caught:
            await session.ask(ChatRequest(question="die", history=(), depth=1))
        assert (caught.value.retryable, caught.value.reached) == (True, True)
        assert (await session.ask(REQUEST)).text == "Yes."


async def test_what_it_remembered_is_gone_with_it(tmp_path: Path) -> None:
    """Only this conversation's: the next one has a new process."""
    program = "for body in asked(): sys.exit(3) if body['question'] == 'die' else say(answer='Yes.')"
    adapter = _adapter(tmp_path, program, history="server", per="run")
    async with entered(adapter):
        async with adapter.session(TALK) as session:
            await session.ask(REQUEST)
            with pytest.raises(AdapterConnectionError):
                await session.ask(ChatRequest(question="die", history=(), depth=1))
            with pytest.raises(AdapterConnectionError, match=r"does not remember .*exit code 3") as caught:
                await session.ask(REQUEST)
            assert (caught.value.retryable, caught.value.reached) == (False, False)
        async with adapter.session(TALK) as session:
            assert (await session.ask(REQUEST)).text == "Yes."


async def test_stderr_is_kept_short_and_keys_in_it_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_API_KEY", "sk-very-secret")
    program = """
for n in range(10_000): print("noise", n, file=sys.stderr)
print("bad key:", os.environ["BOT_API_KEY"], file=sys.stderr)
sys.exit(1)
"""
    async with _asking(tmp_path, program) as session:
        with pytest.raises(AdapterConnectionError, match=r"noise 9999 \| bad key: \*\*\*") as caught:
            await session.ask(REQUEST)

    assert len(str(caught.value)) < 500


@from_table
async def test_a_line_that_is_of_no_use_is_a_bad_reply(
    printed: str, settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    async with _asking(tmp_path, f"for _ in asked(): {printed}; sys.stdout.flush()", **settings) as session:
        with pytest.raises(AdapterReplyError, match=said) as caught:
            await session.ask(REQUEST)

    assert not caught.value.retryable


async def test_one_bad_line_of_a_process_for_all_lets_the_others_ask_again(tmp_path: Path) -> None:
    program = """
bodies = [json.loads(next(sys.stdin)) for _ in range(3)]
print("oops")
"""
    adapter = _adapter(tmp_path, program, per="run")

    async def play() -> Exception:
        async with adapter.session(TALK) as session:
            with pytest.raises((AdapterReplyError, AdapterConnectionError)) as caught:
                await session.ask(REQUEST)
            return caught.value

    async with entered(adapter):
        errors = await asyncio.gather(*(play() for _ in range(3)))

    kinds = [(type(error), error.retryable) for error in errors]
    assert sorted(kinds, key=str) == [
        (AdapterConnectionError, True),
        (AdapterConnectionError, True),
        (AdapterReplyError, False),
    ]


async def test_a_program_can_say_that_it_cannot_answer(tmp_path: Path) -> None:
    program = "for _ in asked(): say(answer=None, oops='no model')"
    async with _asking(tmp_path, program, error="oops") as session:
        with pytest.raises(AdapterRefusedError, match=r"says that it can't answer.*no model"):
            await session.ask(REQUEST)


async def test_a_late_answer_is_nobodys(tmp_path: Path) -> None:
    """A process for all that names conversations goes on; what it owed a cancelled question is dropped."""
    program = """
import threading
say_later = threading.Event()
late = []
def later(key):
    say_later.wait()
    say(answer="late", conversation=key)
for body in asked():
    if body["question"] == "later":
        late.append(threading.Thread(target=later, args=[body["conversation"]], daemon=True))
        late[-1].start()
        open("waiting", "w").close()
    else:
        if (body["question"] == "both"):
            say_later.set()
            late.pop().join()
        say(answer="in time", conversation=body["conversation"])
"""
    async with _asking(tmp_path, program, per="run") as session:
        await session.ask(REQUEST)
        late = asyncio.create_task(session.ask(ChatRequest(question="later", history=(), depth=1)))
        await until_async((tmp_path / "waiting").exists)
        late.cancel()
        both = await session.ask(ChatRequest(question="both", history=(), depth=1))
        after = await session.ask(REQUEST)

    assert (both.text, after.text) == ("in time", "in time")


@pytest.mark.parametrize("when", ["with the answer", "later"])
@pytest.mark.parametrize("history", ["client", "server"])
async def test_a_second_line_is_not_the_answer_to_the_next_question(
    tmp_path: Path, when: str, history: str
) -> None:
    program = f"""
for body in asked():
    if {when == "later"}:
        say(answer="one")
        while not os.path.exists("read"): time.sleep(0.001)
        say(answer="another")
    else:
        sys.stdout.write('{{"answer": "one"}}\\n{{"answer": "another"}}\\n')
        sys.stdout.flush()
    open("done", "w").close()
"""
    async with _asking(tmp_path, "import os, sys, time\n" + program, history=history) as session:
        assert (await session.ask(REQUEST)).text == "one"
        (tmp_path / "read").touch()
        until((tmp_path / "done").exists)  # without letting the event loop read it
        said = r'printed a line without having been .*"another".*exactly one JSON line for each'
        with pytest.raises(AdapterReplyError, match=said) as caught:
            await session.ask(REQUEST)

    assert not caught.value.retryable


async def test_a_line_that_is_left_over_is_told_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = """
for body in asked(): say(answer=body["question"])
say(answer="left over")
"""
    async with _asking(tmp_path, program) as session:
        await session.ask(REQUEST)
        assert not caplog.records
    assert '"left over"' in caplog.text
    assert "its answers may be those of turns before" in caplog.text
