from __future__ import annotations

import json

from replay.report.export import report_json
from replay.report.notes import notes
from tests.report.sample_report import report


def test_the_report_has_a_schema_and_plain_values_only():
    found = report_json(report())

    assert found["schema"] == 1
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_everything_that_the_text_shows_is_there():
    shown = report()
    found = report_json(shown)

    assert found["depth_table"] == shown.table.to_json()
    assert [gap["second"]["policy"] for gap in found["gaps"]][::4] == ["pred", "rewrite", "filter"]
    assert found["notes"] == notes(shown)
    assert [one["policy"] for one in found["survival"]] == ["pred", "rewrite", "filter"]
    assert found["survival"][0]["rows"][1]["broken"] == 3
    assert found["signatures"]["rewrite"].startswith("policy:rewrite|")
