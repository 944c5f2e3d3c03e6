"""What is said where a cluster can't be reached; Ray's own part of it is real, in a process of its own."""

from __future__ import annotations

import socket

import pytest

from tests.cli.command import replay_process

pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')


def test_a_missing_token_is_said_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        done = replay_process("run", "quickstart", "--on", address, cwd=tmp_path)

    assert done.returncode == 2
    assert f'cluster.address: "{address}" can\'t be reached' in done.stderr
    assert "no authentication token was found" in done.stderr
    assert "RAY_AUTH_TOKEN have to be set here as well" in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout
