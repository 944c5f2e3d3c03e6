from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from replay.core.errors import InputError, PluginError
from replay.tables.agreement_document import draw_plots
from replay.tables.agreement_study import StudySettings, agreement_study
from tests.tables.test_agreement_study import items

NAMES = ["scatter", "differences", "distributions", "correlations"]


def study(scores=(0.1, 0.5, 0.4, 0.9), name="cost in $ and $"):
    human = items("h", [({"id": str(n)}, {"overall": float(n)}) for n in range(4)])
    rows = [({"id": str(n)}, {name: score, "other": 1 - score}) for n, score in enumerate(scores)]
    return agreement_study(items("s", rows), human, settings=StudySettings(resamples=20))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return draw_plots(study(), tmp_path_factory.mktemp("drawn") / "plots")


def test_four_plots_are_drawn_as_png_and_svg(drawn):
    assert [file.name for file in drawn] == [f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")]
    for file in drawn:
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG")
        else:
            assert ElementTree.parse(file).getroot().tag.endswith("svg")


@pytest.mark.long
def test_the_same_study_gives_the_same_bytes(drawn, tmp_path):
    again = draw_plots(study(), tmp_path)

    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in drawn]


def test_scores_without_a_correlation_are_drawn_all_the_same(tmp_path):
    assert len(draw_plots(study(scores=(1.0, 1.0, 1.0, 1.0)), tmp_path)) == 8


def test_nothing_to_draw_is_an_error(tmp_path):
    human = items("h", [({"id": "1"}, {"overall": None})])
    empty = agreement_study(items("s", [({"id": "1"}, {"f1": 1.0})]), human, settings=StudySettings())

    with pytest.raises(InputError, match="nothing to draw"):
        draw_plots(empty, tmp_path)


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(PluginError, match=r"convreplay\[plots\]"):
        draw_plots(study(), tmp_path)
