"""``replay study status`` while the study is served, by file, folder and database."""

from __future__ import annotations

import json

from tests.cli.command import replay_cli
from tests.study.serving import begun, served


async def test_a_study_that_is_served_says_where_it_stands(quick_run, tmp_path):
    text = f"name: check\npreset: {{rating: {{answers: 2}}}}\nruns: ['{quick_run}']\nraters: [ann, '[b]']\n"
    (tmp_path / "study.yaml").write_text(text)
    database = begun(text, tmp_path)
    async with served(database) as study:
        for rater in (1, 2):
            async with study.at_work(rater) as browser:
                await browser.send("/rate/answer", {"rating": "1", "comment": "between us"})
                if rater == 1:
                    await browser.send("/rate/answer", {"rating": "1"})
        said = [replay_cli("study", "status", path, cwd=tmp_path) for path in (".", "study.yaml", database)]
        found = replay_cli("study", "status", "--json", cwd=tmp_path)

    assert [one.returncode for one in (*said, found)] == [0] * 4, said[0].stderr
    assert len({one.stdout for one in said}) == 1
    out = said[0].stdout
    assert "ann    done" in out
    assert "[b]    at work" in out
    assert "2 of 2" in out
    assert "3 screens were answered in less than 2 s." in out
    assert "between us" not in out + found.stdout
    assert study.pages.access.rater_token(1) not in out + found.stdout
    content = json.loads(found.stdout)
    assert [one["rater"] for one in content["raters"]] == ["ann", "[b]"]
    assert content["balance"][0]["done"] == 3
    assert content["agreement"][0]["items"] == 1


def test_where_there_is_no_study_the_next_step_is_told(tmp_path):
    said = replay_cli("study", "status", cwd=tmp_path)
    assert said.returncode == 2
    assert "replay study init" in said.stderr
