"""What docs/resolvers.md shows of a model as resolver works, and what it lists is what there is."""

from __future__ import annotations

import re

import yaml

from replay.coreference.service.llm import VARIABLES
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from tests.docs.shown_output import blocks, page

TEXT = page("resolvers")
(SECTION,) = re.findall(r"^## An LLM as resolver$(.*?)^## ", TEXT, re.DOTALL | re.MULTILINE)


def test_the_shown_section_can_be_built(tmp_path):
    (block,) = blocks(SECTION, "yaml")
    drift = yaml.safe_load(block)["drift"]
    choice = ResolverChoice(name=drift["resolver"], settings=drift["settings"], folder=tmp_path)
    assert CoreferenceService(choice).signature.startswith("llm(openai/my-model@")


def test_every_variable_is_listed():
    for name in VARIABLES:
        assert f"`{name}`" in SECTION, name
