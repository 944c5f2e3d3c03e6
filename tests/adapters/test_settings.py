"""Settings that can't work are faults of the scenario, each with what is wrong: ``setting_faults.toml``."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from replay import ScenarioError
from replay.core.settings.plugins import build, load

FAULTS = [
    pytest.param(table, fault, id=f"{table['name']}: {fault['says']}")
    for table in tomllib.loads((Path(__file__).parent / "setting_faults.toml").read_text("utf-8"))["adapters"]
    for fault in table["faults"]
]


@pytest.mark.parametrize(("table", "fault"), FAULTS)
def test_a_setting_that_cannot_work_says_why(
    table: dict[str, Any], fault: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "shape.yaml").write_text("5")
    settings = {**table["settings"], **fault["settings"]}
    if settings.get("command") == ["PYTHON"]:
        settings["command"] = [sys.executable]
    for name in fault.get("left_out", ()):
        del settings[name]
    with pytest.raises(ScenarioError, match=fault["says"]) as caught:
        build(load("adapters", table["adapter"], tmp_path), settings, folder=tmp_path)

    assert "sk-literal" not in str(caught.value)
