"""Texts that mean ill to a terminal, in every place that a text can come from, through every verb."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiohttp import web

from replay.core.terminal import escape_unprintable
from tests.adapters.servers import answering
from tests.cli.command import all_of, replay_cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="opens a pseudo-terminal")

ERASING, COLOURING, LINK = "\x1b[2J", "\x1b[38;5;201m", "\x1b]8;;http://evil.test\x1b\\here"
COMMANDS = "::add-mask::a ##[set-output name=x]y"
"""What GitHub's runner obeys where it stands in a job's log."""
HOSTILE = (
    f"{ERASING}{COLOURING}{LINK}\x07\x9b31m\r\x08\u202eevil\u2066\u200b[bold red]x[/] [link=http://e]l[/link]"
    f"{COMMANDS}"
)
"""No line break: what that does is another test's."""
LINES = "\nforged\r\nforged\u2028forged\x85forged"
OURS = re.compile(r"\x1b\[([0-9;]*m|\?25[lh]|2K|1A)|\r(?=[\n\x1b])")
"""What rich writes for colour and for a line that changes in place, and a terminal's line end."""

DRIVER = """\
import json, os, sys
from pathlib import Path
from replay.cli import main
for argv in json.loads(sys.stdin.read()):
    os.write(1, b"\\n==== " + json.dumps(argv).encode() + b"\\n")
    sys.argv = ["replay", *(str(next(Path("runs").iterdir())) if one == "RUN" else one for one in argv)]
    try:
        main()
    except SystemExit:
        pass
    except Exception:
        sys.excepthook(*sys.exc_info())
"""


async def on_a_terminal(commands: Sequence[Sequence[str]], folder: Path) -> list[str]:
    """
    What each of *commands* writes to a pseudo-terminal, to standard output and standard error.

    ``RUN`` stands for the first run that they make.
    """
    import pty

    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment = {"TERM": "xterm", "COLUMNS": "160", "CONVREPLAY_CACHE": "off", "OPENAI_API_KEY": "none"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DRIVER),
        cwd=folder,
        env={**kept, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    reading = asyncio.create_task(asyncio.to_thread(all_of, ours))
    try:
        await process.communicate(json.dumps(commands).encode())
    finally:
        if process.returncode is None:
            process.kill()
        written = (await reading).decode("utf-8", "backslashreplace")
        os.close(ours)
    said = re.split(r"\r?\n==== .*\r\n", written)[1:]
    assert len(said) == len(commands), written
    return said


def scenario(url: str) -> dict:
    """Every name in it is hostile, and so is everything that the server says."""
    name = f"n{HOSTILE}"
    settings = {"url": url, "body": {"q": "{{question}}"}, "answer": "answer"}
    return {
        "name": "named",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": name, "adapter": "http", "settings": settings}],
        "policies": ["gold", "pred"],
        "drift": {"nlp_workers": 0},
        "play": {"attempts": 1, "keep_raw": True},
        "scorers": ["f1"],
        "judges": [{"correctness": {"adapter": "openai", "settings": {"base_url": url, "model": name}}}],
        "assert": [{"metric": "f1", "system": name, "min": 1}],
    }


async def hostile(request: web.Request) -> web.StreamResponse:
    question = (await request.text()) or ""
    if "who" in question:
        return web.json_response({"answer": HOSTILE})
    return web.json_response({"error": HOSTILE}, status=500)


ODD = f"o{HOSTILE}".replace("/", "")
"""A file's name."""

COMMANDS = {
    "validate": ["validate", "s.yaml"],
    "faults": ["validate", "faults.yaml"],
    "bad data": ["validate", "bad.yaml"],
    "bug": ["validate", "bug.yaml"],
    "run": ["run", "s.yaml"],
    "report": ["report"],
    "markdown": ["report", "--markdown"],
    "json": ["report", "--json"],
    "page": ["report", "--html", f"{ODD}.html"],
    "score": ["score", "--scorer", "em"],
    "estimate": ["score", "--dry-run"],
    "judge": ["score", "--judge", "all"],
    "rerun": ["rerun", "--only", "failed"],
    "resume": ["resume"],
    "compare": ["compare", "RUN", "--policies", "gold,pred", "--flips", "5"],
    "spread": ["compare", "RUN", "RUN", "--spread"],
    "csv": ["export"],
    "jsonl": ["export", "--format", "jsonl"],
    "parquet": ["export", "--format", "parquet"],
    "conversations": ["export", "--table", "conversations", "--format", "jsonl"],
    "raw": ["export", "--table", "raw", "--format", "jsonl"],
    "plot": ["plot", "--what", "depth", "--out", f"{ODD}.svg"],
    "stress": ["stress", "load.yaml", "--concurrency", "1", "--turns", "6", "--slo", "errors=0", "--full"],
    "rewrite": ["rewrite", "talks.jsonl"],
    "agree": ["agree", f"{ODD}.csv", f"{ODD}.csv"],
    "score-file": [
        "score-file",
        "--benchmark",
        f"{ODD}.csv",
        "--responses",
        f"{ODD}.csv",
        "-o",
        f"{ODD}.jsonl",
        *("--column", "Rouge-L"),  # others take a model that is loaded for 6 s
    ],
    "plugins": ["plugins"],
    "no run": ["report", ODD],
    "no scenario": ["run", ODD],
    "no option": [f"--{HOSTILE}"],
    "no verb": [HOSTILE],
    "serve": ["serve", HOSTILE],
    "init": ["init", ODD],
}
SILENT = {"score", "estimate", "judge", "plugins", "parquet", "bad data"}
"""What prints none of the texts."""


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, str]:
    """What each verb said."""
    return asyncio.run(all_said(tmp_path_factory.mktemp("hostile")))


async def all_said(folder: Path) -> dict[str, str]:
    turns = [{"question": f"{word} {HOSTILE}", "gold_answers": [HOSTILE]} for word in ("who", "what", "who")]
    talks = [{"id": f"{number}{HOSTILE}", "turns": turns} for number in range(3)]
    (folder / "talks.jsonl").write_text("".join(f"{json.dumps(talk)}\n" for talk in talks))
    (folder / "bad.jsonl").write_text(json.dumps({"id": 3, HOSTILE: HOSTILE}) + "\n")
    (folder / "bug.py").write_text(f"class Policy:\n    raise Exception({HOSTILE!r})\n")
    rows = [("id", "question", "answer", "golden", "score"), (HOSTILE, HOSTILE, "b", HOSTILE, 1)]
    with (folder / f"{ODD}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([*rows, ("2", "q", "a", "a", 2), ("3", "p", "a", "a", 3)])
    async with answering(hostile) as url:
        good = scenario(url)
        changed = {
            "s": {},
            "load": {"play": {"attempts": 1}, "policies": ["pred"], "judges": []},
            "bug": {"policies": ["bug.py:Policy"]},
            "faults": {HOSTILE: 1, "policies": [HOSTILE]},
            "bad": {"data": {"path": "bad.jsonl"}},
        }
        for name, changes in changed.items():
            (folder / f"{name}.yaml").write_text(json.dumps({**good, **changes}))
        written = await on_a_terminal([*COMMANDS.values()], folder)
    return dict(zip(COMMANDS, written, strict=True))


@pytest.mark.parametrize("verb", COMMANDS)
def test_nothing_but_our_own_escape_sequences_comes_out(said, verb):
    assert COLOURING not in said[verb]
    assert not any(start in said[verb] for start in ("::add-mask", "##[set"))
    plain = OURS.sub("", said[verb])
    assert plain == escape_unprintable(plain, keep="\n")
    assert re.search(r"\\(x|u00)1b\[2J", plain) or verb in SILENT


def test_no_text_poses_for_a_line_of_ours(tmp_path):
    forged = f"bot{LINES}"
    talk = {"id": f"t{LINES}", "turns": [{"question": "q", "gold_answers": ["a"]}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk) + "\n")
    content = {
        "name": "lines",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": forged, "adapter": "scripted", "settings": {"answers": ["b"]}}],
        "policies": ["gold"],
        "assert": [{"metric": "f1", "system": forged, "min": 1}],
    }
    (tmp_path / "s.yaml").write_text(json.dumps(content))
    (tmp_path / "f.yaml").write_text(json.dumps({**content, f"key{LINES}": 1}))
    for verb in (["validate", "s.yaml"], ["run", "s.yaml"], ["report", "--markdown"], ["validate", "f.yaml"]):
        done = replay_cli(*verb, cwd=tmp_path)
        assert "forged" in done.stdout + done.stderr
        assert not re.search("^forged", done.stdout + done.stderr, re.MULTILINE), verb


def test_other_programs_get_the_very_texts_from_a_pipe(tmp_path):
    talk = {"id": HOSTILE, "turns": [{"question": "q", "gold_answers": ["a"]}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk) + "\n")
    system = {"name": "s", "adapter": "scripted", "settings": {"answers": [HOSTILE]}}
    content = {"name": "piped", "data": {"path": "talks.jsonl"}, "systems": [system], "policies": ["gold"]}
    (tmp_path / "s.yaml").write_text(json.dumps(content))
    assert replay_cli("run", "s.yaml", cwd=tmp_path).returncode == 0

    turn = json.loads(replay_cli("export", "--format", "jsonl", cwd=tmp_path).stdout)
    assert (turn["conversation"], turn["answer"]) == (HOSTILE, HOSTILE)
    shown = replay_cli("report", "--json", cwd=tmp_path).stdout
    assert json.loads(shown)["depth_table"]
    assert escape_unprintable(shown, keep="\n") == shown
