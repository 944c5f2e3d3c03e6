"""Processes that play a part of a run: what they are given."""

from __future__ import annotations

import pytest

from replay.workers import process


@pytest.mark.parametrize(("cores", "workers", "threads"), [(8, 2, "4"), (8, 8, "1"), (2, 4, "1")])
def test_processes_share_the_cores_for_their_arithmetic(monkeypatch, cores, workers, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(process, "cpu_count", lambda: cores)
    assert process._environment(workers)["OMP_NUM_THREADS"] == threads
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert process._environment(workers)["OMP_NUM_THREADS"] == "3", "whoever has said it is heeded"


def test_all_else_is_as_here(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "some value")
    assert process._environment(2)["SOME_KEY"] == "some value"
