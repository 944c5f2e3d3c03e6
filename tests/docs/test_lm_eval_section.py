"""What docs/integrations.md says of lm-eval, run as it stands there; UPDATE_GOLDEN=1 writes it anew."""

from __future__ import annotations

import re

import pytest

from replay.cli.serving.server import make_app
from replay_adapters.local.extractive import ExtractiveAdapter
from tests.adapters.servers import in_a_thread, running
from tests.cli.command import replay_cli
from tests.docs.shown_output import agree, blocks, page, section

pytest.importorskip("lm_eval", reason='needs pip install "convreplay[lm-eval]"')

PAGE = page("integrations")
SECTION = section(PAGE, "lm-eval")


def test_the_scenario_says_what_is_shown(tmp_path):
    (scenario,) = re.findall(r"```yaml\n(# lm.yaml\n.*?)```", SECTION, re.DOTALL)
    (shown,) = blocks(SECTION, "text")
    replay_cli("init", cwd=tmp_path)
    with in_a_thread(running(make_app(ExtractiveAdapter(), name="extractive"))) as address:
        (tmp_path / "lm.yaml").write_text(scenario.replace("http://127.0.0.1:8000", address))
        said = replay_cli("run", "lm.yaml", cwd=tmp_path).stdout
    begins = said.index(shown.splitlines()[0])
    agree("docs/integrations.md", shown, "".join(said[begins:].splitlines(True)[: len(shown.splitlines())]))
