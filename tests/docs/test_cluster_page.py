"""The page on clusters: its settings are those there are, and its commands work when pasted."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from replay.scenario.sections import ClusterSection
from tests.cli.command import replay_process
from tests.docs.shown_output import page
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
PAGE = page("cluster")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}


def test_the_section_shown_is_sound():
    (shown,) = (yaml.safe_load(one) for one in re.findall(r"```yaml\n(cluster:.*?)```", PAGE, re.DOTALL))
    assert ClusterSection.model_validate(shown["cluster"]).per_node == 4


def test_the_manifest_plays_a_scenario_on_nodes_that_have_room_for_it():
    (manifest,) = (yaml.safe_load(one) for one in re.findall(r"```yaml\n(api.*?)```", PAGE, re.DOTALL))
    spec = manifest["spec"]["rayClusterSpec"]
    assert manifest["spec"]["entrypoint"].split()[:2] == ["replay", "run"]
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0", "nothing is played on the head"
    (players,) = spec["workerGroupSpecs"]
    (said,) = re.findall(r"`(cluster: \{per_node: .*?\})`", PAGE)
    cluster = ClusterSection.model_validate(yaml.safe_load(said)["cluster"])
    assert cluster.per_node * cluster.cpus == float(players["rayStartParams"]["num-cpus"])


def test_tests_that_are_named_are_there():
    named = re.findall(r"`(tests/[\w/.]+|benchmarks/[\w.]+)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def ray_folder() -> Iterator[Path]:
    """A folder of Ray's own; at the end, all that runs from it is ended."""
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))  # sockets have short paths
    yield folder
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:  # it has just ended
            continue
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.long
def test_two_nodes_of_this_machine_play_the_quickstart(tmp_path, monkeypatch, ray_folder):
    pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    head, node, run = (
        shlex.split(line) for line in re.findall(r"^\$ (.*)", SECTIONS["Two nodes on a laptop"], re.MULTILINE)
    )
    port, client_port = (str(port) for port in free_ports(2))
    address = f"127.0.0.1:{port}"
    small = ["--object-store-memory", "80000000"]
    own = ["--port", port, "--include-dashboard", "false", "--temp-dir", ray_folder]
    own += ["--ray-client-server-port", client_port]
    ray = Path(sys.executable).with_name("ray")
    monkeypatch.setenv("RAY_ADDRESS", address)
    for command in (
        [*head[1:], *own, *small],
        [part.replace("127.0.0.1:6379", address) for part in node[1:]] + small,
    ):
        subprocess.run([ray, *command], check=True, capture_output=True, timeout=PATIENCE_S)
    done = replay_process(*run[1:], cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "80 conversations played, 784 turns" in done.stderr
