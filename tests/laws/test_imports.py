"""Imports go one way; the picture in the code is the picture in docs/architecture.md."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.laws.sources import ROOT, nodes

ROOMS = {
    "core": "",
    "core/settings": "core",
    "core/asking": "core core/settings",
    "datasets": "core core/settings scorers/checks",
    "store": "core",
    "scorers": "core core/settings",
    "scorers/checks": "core core/settings scorers",
    "scorers/judges": "core core/settings core/asking scorers scorers/checks",
    "statistics": "core core/settings scorers",
    "statistics/load": "core statistics",
    "coreference/reading": "core",
    "coreference/service": "core core/settings core/asking coreference/reading",
    "coreference": "core coreference/reading coreference/service",
    "coreference/training": "core datasets coreference/reading",
    "users": "core core/settings core/asking scorers/checks coreference/reading",
    "policies": "core core/settings core/asking coreference/reading coreference users",
    "play": "core core/settings core/asking policies",
    "play/load": "core core/settings datasets play",
    "scenario/assertions": "core core/settings store scorers scorers/checks scorers/judges statistics",
    "scenario": "core core/settings core/asking datasets scorers scorers/checks scorers/judges "
    "coreference/reading coreference/service coreference policies play play/load "
    "scenario/assertions",
    "workers": "core core/asking play play/load scenario",
    "workers/cluster": "core core/settings core/asking store scorers play play/load scenario workers",
    "load": "core core/asking datasets store scorers statistics statistics/load "
    "coreference/reading policies play play/load scenario workers workers/cluster",
    "report": "core core/settings scorers statistics statistics/load scenario/assertions",
    "results": "core core/settings core/asking datasets store scorers scorers/checks scorers/judges "
    "statistics statistics/load coreference/reading coreference/service users policies "
    "play scenario/assertions scenario workers/cluster load report",
    "runs": "core core/settings core/asking datasets store scorers statistics statistics/load "
    "coreference/reading coreference/service coreference policies play play/load scenario workers "
    "workers/cluster load report results",
    "web": "core",
    "viewer": "core store scorers statistics statistics/load scenario/assertions scenario report results web",
    "tables": "core core/settings core/asking datasets scorers scorers/judges statistics report",
    "collecting": "core core/settings datasets coreference/reading coreference scenario report web",
    "study": "core store statistics results",
    "study/presets": "core core/settings scorers statistics users report study",
    "study/running": "core core/settings core/asking datasets store scorers statistics users play scenario "
    "results runs tables study study/presets",
    "study/pages": "core web study study/running",
    "testing": "core core/settings core/asking datasets scorers scorers/judges coreference/reading "
    "coreference/service coreference users policies play",
    "integrations": "core core/settings datasets store scorers scorers/judges statistics "
    "scenario/assertions scenario report results runs viewer testing",
    "synthesis/documents": "core",
    "synthesis/questions": "coreference/reading synthesis/documents",
    "synthesis": "core core/settings core/asking datasets coreference/reading report "
    "synthesis/documents synthesis/questions",
    "synthesis/model": "core core/asking datasets coreference/reading play synthesis synthesis/documents",
    "integrations/deepeval": "core datasets scorers statistics report results runs",
    "integrations/inspect": "core core/settings core/asking scorers scorers/checks statistics policies play "
    "scenario report results runs",
    "integrations/otel": "core store scorers/judges statistics play scenario results",
    "cli/serving": "core core/asking web",
    "cli": "core core/settings core/asking datasets scorers/judges statistics "
    "coreference/reading coreference/service coreference play "
    "play/load scenario/assertions scenario load report results runs web "
    "viewer tables collecting study/running study/pages synthesis synthesis/model "
    "cli/serving",
}
"""Each room, and the rooms that it imports. A file's room is its folder below ``replay``."""

PARTS = {"core/safety": "core"}
"""Folders that are no rooms of their own. The log redacts, and redaction knows the errors."""


def room_of(path: Path) -> str:
    folder = path.parent.relative_to(ROOT / "replay").as_posix()
    return PARTS.get(folder, folder)


FILES = {
    ".".join(path.with_suffix("").relative_to(ROOT).parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "replay").rglob("*.py"))
}
"""Every file by the name under which it is imported."""


@cache
def imported(path: Path) -> set[str]:
    """Dotted names that a file imports, TYPE_CHECKING ones and late ones included."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def arrows(room: str) -> dict[str, set[str]]:
    """The other rooms that *room* imports, and which of its files does; ``replay`` is none."""
    found: dict[str, set[str]] = {}
    for path in FILES.values():
        if room_of(path) != room:
            continue
        for name in imported(path):
            target = FILES.get(name) or FILES.get(name.rpartition(".")[0])
            if target and room_of(target) not in (room, "."):
                found.setdefault(room_of(target), set()).add(path.name)
    return found


def test_every_room_is_in_the_picture():
    assert {room_of(path) for path in FILES.values()} == {".", *ROOMS}


def test_every_room_is_a_package():
    """Of a folder without ``__init__.py``, which is a namespace, pyright's count knows no class."""
    folders = {
        path.parent for top in ("replay", "adapters/replay_adapters") for path in (ROOT / top).rglob("*.py")
    }
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_those_in_the_picture(room):
    """No others; and an arrow that the code no longer needs leaves the picture too."""
    found = arrows(room)
    assert found.keys() == set(ROOMS[room].split()), found


def test_no_room_imports_itself_by_way_of_others():
    order = list(TopologicalSorter({room: allowed.split() for room, allowed in ROOMS.items()}).static_order())
    assert sorted(order) == sorted(ROOMS)


def test_no_file_imports_itself_by_way_of_others():
    """Late imports and those for types count: a circle is read as one file."""
    files = {
        name: {target for found in imported(path) if (target := file_of(found)) not in (None, name)}
        for name, path in FILES.items()
    }
    TopologicalSorter(files).prepare()


def file_of(name: str) -> str | None:
    """Return the file in which the imported *name* is; None for those of others."""
    return next((file for file in (name, name.rpartition(".")[0]) if file in FILES), None)


def test_only_the_reader_and_the_verdict_import_the_network():
    """And no earlier than for a verdict, since it loads ONNX Runtime."""
    network = {f"replay.coreference.reading.{name}" for name in ("decisions", "decode", "network")}
    importing = {
        name
        for name, path in FILES.items()
        if {file_of(found) for found in imported(path)} & network and room_of(path) != "coreference/training"
    }
    assert importing == {
        *("replay.coreference.reading." + name for name in ("decisions", "decode", "embedded", "phrasing")),
        "replay.coreference.reading.verdict",
    }
    program = "import sys, replay.coreference.reading.verdict; print('onnxruntime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_engine_knows_nothing_of_scores():
    """What was answered doesn't depend on how it is judged."""
    for room in ("play", "play/load", "policies", "coreference"):
        assert not {"scorers", "scorers/judges", "statistics", "report"} & set(ROOMS[room].split())


def test_nothing_in_replay_imports_the_built_in_adapters():
    """They come in by the same door as a third party's."""
    for path in FILES.values():
        assert not any(name.split(".")[0] == "replay_adapters" for name in imported(path)), path


def test_adapters_import_only_what_replay_exports():
    for path in sorted((ROOT / "adapters").rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith("replay."), f"{path}: {node.module}"


NEURAL = {"bert_score", "fastcoref", "sentence_transformers", "spacy", "torch", "transformers"}
"""What the extra ``neural`` brings."""


def test_only_these_files_import_what_the_extra_brings():
    """And those that do so by name, as ``neural_module`` does. A core installation runs everything else."""
    paths = [*FILES.values(), *(ROOT / "adapters").rglob("*.py")]
    found = {path: {name.partition(".")[0] for name in imported(path)} & NEURAL for path in paths}
    assert {path.relative_to(ROOT).as_posix(): names for path, names in found.items() if names} == {
        "replay/coreference/service/fastcoref.py": {"fastcoref", "spacy", "torch"},
        "replay/core/neural_models.py": {"transformers"},
        "replay/coreference/service/semantic.py": {"sentence_transformers"},
        # Training the reader needs torch; reading with it doesn't.
        **{f"replay/coreference/training/{name}.py": {"torch"} for name in ("export", "network", "train")},
        "replay/scorers/bertscore.py": {"spacy"},
        "replay/synthesis/documents/prose.py": {"spacy"},
    }


HEAVY = (
    "aiohttp", "pandas", "numpy", "onnxruntime", "scipy", "spacy", "pydantic", "torch", "sacrebleu",
    "rouge_score", "matplotlib", "openpyxl", "jinja2", "plotly",
)  # fmt: skip


def test_help_loads_nothing_heavy():
    """`replay --help` has to answer at once; a stress test never loads torch."""
    program = (
        "import sys\n"
        "from replay.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Replay conversations" in done.stdout
    assert done.stderr.strip() == "[]"


IMPORTING = {
    "import replay": set(),
    "from replay import ChatReply, Conversation, TurnRecord, ReplayError": {"msgspec"},
    "from replay import Run, run, testing": {"asyncio", "jinja2", "msgspec", "pydantic", "yaml"},
}
"""What an import may bring in, of what takes a while; each comes after those above it."""


def test_an_import_loads_what_it_needs_and_nothing_else():
    """The first takes 10 to 15 ms, of which lazy_loader reads the list of names: benchmarks/importing.py."""
    looked_for = (*HEAVY, "asyncio", "msgspec", "rich", "typer", "yaml")
    loaded = f"print(*[m for m in {looked_for!r} if m in sys.modules])"
    program = "import sys\n" + "\n".join(f"{statement}\n{loaded}" for statement in IMPORTING)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for line, (statement, expected) in zip(done.stdout.splitlines(), IMPORTING.items(), strict=True):
        assert set(line.split()) <= expected, statement


def test_playing_alone_loads_nothing_that_calculates(tmp_path):
    """A generator of load has its memory for conversations: numpy takes 13 MB and a tenth of a second."""
    talk = {"id": "a", "turns": [{"question": "Who?"}]}
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk))
    (tmp_path / "answers.yaml").write_text("[Ada.]")
    system = {"name": "s", "adapter": "scripted", "settings": {"answers": "answers.yaml"}}
    scenario = {"name": "n", "data": {"path": "talk.jsonl"}, "systems": [system], "policies": ["gold"]}
    program = (
        "import replay, sys\n"
        f"run = replay.run({scenario | {'scorers': []}!r})\n"
        "assert [record.answer for record in run.records()] == ['Ada.']\n"
        "print([m for m in ('numpy', 'onnxruntime', 'pandas', 'scipy', 'torch') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


NOT_BEFORE_A_QUESTION = (
    "replay.play.load.arrivals", "replay.viewer", "replay.workers.cluster.", "replay.runs.worker_plays",
    "replay.load.levels", "replay.scorers.judges", "replay.statistics.depth_table", "replay.study",
    "replay.workers.process",
)  # fmt: skip


def test_before_its_first_question_a_plain_run_loads_what_that_needs(tmp_path):
    """No load generator, workers, cluster, judges, statistics or pages."""
    (tmp_path / "bot.py").write_text("import sys\ndef answer(question):\n    return ' '.join(sys.modules)\n")
    (tmp_path / "talk.jsonl").write_text(json.dumps({"id": "a", "turns": [{"question": "Who?"}]}))
    system = {"name": "s", "adapter": "python", "settings": {"target": "bot.py:answer"}}
    scenario = {"name": "n", "data": {"path": "talk.jsonl"}, "systems": [system], "policies": ["pred"]}
    program = f"import replay\nprint(replay.run({scenario!r}).records()[0].answer)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    loaded = run.stdout.split()
    assert "replay.play.player" in loaded
    assert not [name for name in loaded if name.startswith(NOT_BEFORE_A_QUESTION)]
