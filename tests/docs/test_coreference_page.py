"""What docs/resolvers.md shows of a model as resolver works, and what it lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from replay.coreference.service.llm import VARIABLES
from replay.coreference.service.service import CoreferenceService, ResolverChoice

TEXT = (Path(__file__).parents[2] / "docs" / "resolvers.md").read_text("utf-8")
(SECTION,) = re.findall(r"^## An LLM as resolver$(.*?)^## ", TEXT, re.DOTALL | re.MULTILINE)


def test_the_shown_section_can_be_built(tmp_path):
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    drift = yaml.safe_load(block)["drift"]
    choice = ResolverChoice(name=drift["resolver"], settings=drift["settings"], folder=tmp_path)
    assert CoreferenceService(choice).signature.startswith("llm(openai/my-model@")


def test_every_variable_is_listed():
    for name in VARIABLES:
        assert f"`{name}`" in SECTION, name
