"""What docs/rewriting.md shows works as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from replay.core.drift_evidence import Reading
from replay.core.settings.choice import Choice
from replay.core.settings.plugins import build, load
from replay.coreference.reading.mentions import find_mentions
from replay.policies.augment import lead_in
from replay.policies.policy import Policy
from replay.policies.rewrite import RewriteRequest, build_rewriter
from tests.docs.shown_output import blocks, page
from tests.samples import SINGER, detector

pytestmark = pytest.mark.usefixtures("code_runs")

PAGE = page("rewriting")


@pytest.mark.parametrize("block", blocks(PAGE, "yaml"))
async def test_the_policies_shown_can_be_built(block):
    for written in yaml.safe_load(block)["policies"]:
        name, settings = (written, {}) if isinstance(written, str) else next(iter(written.items()))
        async with detector() as drift:
            provided = {"detector": drift}
            made = build(load("policies", name, Path()), settings, provided=provided, folder=Path())
            assert isinstance(made, Policy)
        assert Choice(name=name, settings=settings).label in (name, *LABELS)


LABELS = ("rewrite(rewriter=substitution)", "rewrite(rewriter=llm)", "augment(mode=both,prefix_words=12)")


async def test_the_rewriter_shown_works(tmp_path):
    (code,) = blocks(PAGE, "python")
    (tmp_path / "mine.py").write_text(code, "utf-8")
    made = build_rewriter("mine.py:Spelled", tmp_path)
    (mention,) = find_mentions(SINGER.turns[1].question)
    reading = Reading(mention=mention, antecedent="Alice Okafor")
    request = RewriteRequest(conversation=SINGER, depth=2, readings=(reading,))
    assert await made.rewrite(request) == "Where was she born? (she: Alice Okafor)"


def test_the_prefixes_shown_are_ours():
    assert lead_in("Alice Okafor sang it.", 15) + "Where was she born?" in PAGE
    assert lead_in("in Port Ellis", 15) + "What is it known for?" in PAGE
