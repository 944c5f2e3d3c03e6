"""``replay judge-file`` and ``replay score-file --judge``, with a judge on this machine behind real HTTP."""

from __future__ import annotations

import asyncio
import csv
import json

import pytest

from tests.cli.command import replay_cli
from tests.scorers.judges.servers import judge_server
from tests.tables.test_responses import FED, USR, write


def rated(prompt, number):
    """Five for the one good response, and a word for a criterion that it can't read."""
    return "5" if "great" in prompt else "2"


async def run(*arguments, folder):
    """The server answers in this loop while the command has a thread of its own."""
    env = {"CONVREPLAY_CACHE": str(folder / "cache"), "OPENAI_API_KEY": "k", "COLUMNS": "120"}
    return await asyncio.to_thread(replay_cli, *arguments, cwd=folder, env=env)


def judge_of(server, folder, kind="geval", **settings):
    more = {"mode": "single"} if kind == "geval" else {}
    prices = {"prompt_usd": 1.0, "completion_usd": 2.0}
    path = folder / f"{kind}.yaml"
    path.write_text(json.dumps({kind: {**server.settings(), "prices": prices, **more, **settings}}), "utf-8")
    return path.name


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


async def test_responses_of_topical_chat_are_judged_and_held_against_people(tmp_path):
    """From the published form to correlations, criterion by criterion, in two commands."""
    write(tmp_path / "usr.json", USR * 3)
    async with judge_server(rated) as server:
        judge = judge_of(server, tmp_path)
        plan = await run("judge-file", "usr.json", "--judge", judge, "--dry-run", folder=tmp_path)
        assert server.bodies == []
        done = await run("judge-file", "usr.json", "--judge", judge, "--out", "scores.csv", folder=tmp_path)
        asked = len(server.bodies)
        again = await run("judge-file", "usr.json", "--judge", judge, "-o", "2.csv", folder=tmp_path)
        assert len(server.bodies) == asked

    assert plan.returncode == done.returncode == again.returncode == 0, plan.stderr + done.stderr
    assert plan.stdout.splitlines()[1].split()[:4] == [
        "geval",
        "6",
        "8",
        "16",
    ]  # like contexts are asked once
    assert asked == 8
    assert "geval.naturalness" in done.stdout
    assert "8 asks sent" in done.stdout
    assert "0.000" in done.stdout  # dollars
    assert "naturalness+coherence+engagingness+groundedness" in done.stdout
    rows = rows_of(tmp_path / "scores.csv")
    assert [row["id"] for row in rows] == ["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"]
    assert [row["system"] for row in rows] == ["A", "B"] * 3
    assert [row["geval.mean"] for row in rows] == ["5.0", "2.0"] * 3
    assert (tmp_path / "2.csv").read_bytes() == (tmp_path / "scores.csv").read_bytes()

    held = await run("agree", "scores.csv", "usr.json", "--json", folder=tmp_path)
    found = {(one["score"], one["criterion"]): one for one in json.loads(held.stdout)["agreement"]}
    assert ("geval.naturalness", "naturalness") in found
    overall = found["geval.mean", "overall"]
    assert overall["items"] == 6
    assert overall["correlations"]["pearson"]["value"] == pytest.approx(1)
    assert overall["correlations"]["pearson"]["clusters"] == 3


async def test_a_missing_fact_is_a_reason_and_dialogues_have_judges_of_their_own(tmp_path):
    write(tmp_path / "fed.json", FED)
    async with judge_server("4") as server:
        turns = judge_of(server, tmp_path)
        whole = json.dumps(
            {"geval": {**server.settings(), "mode": "single", "level": "dialogue", "name": "whole"}}
        )
        command = ("judge-file", "fed.json", "--judge", turns, "--judge", whole, "--out", "scores.jsonl")
        done = await run(*command, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    turn, dialogue = map(json.loads, (tmp_path / "scores.jsonl").read_text("utf-8").splitlines())
    assert (turn["id"], turn["level"], turn["geval.naturalness"]) == ("1", "turn", 4)
    assert json.loads(turn["Unscored"])["geval.groundedness"] == "no fact to rest on in the data"
    assert (dialogue["id"], dialogue["level"], dialogue["whole.coherence"]) == ("2", "dialogue", 4)
    assert "geval.groundedness: 1 item unscored (no fact to rest on in the data)." in done.stdout
    assert "Are you\nbored?" in server.prompts[0]


async def test_what_was_doubtful_is_counted(tmp_path):
    """A judge by name leaves out what it quotes from nowhere."""
    write(tmp_path / "usr.json", USR)
    items = [{"quote": quote, "relevant": True} for quote in ("great", "great !", "grand")]
    async with judge_server(json.dumps({"statements": items})) as server:
        judge = judge_of(server, tmp_path, "answer_relevancy")
        done = await run("judge-file", "usr.json", "--judge", judge, "--out", "s.csv", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    good, bad = rows_of(tmp_path / "s.csv")
    assert good["answer_relevancy"] == "1.0"
    reason = "the judge's evidence isn't in what it was shown"
    assert json.loads(bad["Unscored"]) == {"answer_relevancy": reason}
    text = " ".join(done.stdout.split())
    assert "an item whose evidence isn't in what the judge was shown, left out: 1 time in 1 item." in text


async def test_where_no_judge_gives_a_number_the_command_fails_and_the_reasons_are_kept(tmp_path):
    write(tmp_path / "usr.json", USR)
    async with judge_server("very good") as server:
        judge = judge_of(server, tmp_path, criteria=["coherence"])
        done = await run(
            "judge-file", "usr.json", "--judge", judge, "--out", "s.csv", "--json", folder=tmp_path
        )

    assert done.returncode == 1
    assert "no judge gave a number" in done.stderr
    assert json.loads(done.stdout)["judges"]["geval"].startswith("geval:mode=single|level=turn")
    reasons = [json.loads(row["Unscored"])["geval.coherence"] for row in rows_of(tmp_path / "s.csv")]
    assert len(reasons) == 2
    assert all(reasons)


ENDPOINT = "adapter: openai, settings: {base_url: 'http://127.0.0.1:9', model: m}"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--judge", "missing.yaml", "--dry-run"), "missing.yaml can't be read: No such file"),
        (("--judge", "{geval: {mode: single}}", "--dry-run"), "a judge needs an adapter"),
        (("--judge", f"{{correctness: {{{ENDPOINT}}}}}"), "--out FILE is missing"),
        (
            ("--judge", f"{{geval: {{mode: single, level: dialogue, {ENDPOINT}}}}}", "--dry-run"),
            "items of level dialogue, and the file has none",
        ),
        (("--judge", f"{{correctness: {{{ENDPOINT}}}}}") * 2, 'two judges are called "correctness"'),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(arguments, complaint, tmp_path):
    write(tmp_path / "usr.json", USR)
    done = replay_cli("judge-file", "usr.json", *arguments, cwd=tmp_path, env={"OPENAI_API_KEY": "k"})

    assert done.returncode != 0
    assert complaint in " ".join(done.stderr.split())


def claimed(prompt, number):
    lists = {"golden_claims": ["built by Alice", "in 1900"], "candidate_claims": ["built by Alice"]}
    return json.dumps({**lists, "common_claims": ["built by Alice"], "golden_count": 7})


async def test_score_file_asks_a_judge_for_the_six_columns(tmp_path):
    (tmp_path / "gold.csv").write_text(
        "id,Question,Golden Response\n1,Who built it?,Alice in 1900.\n2,Why?,For fun.\n", "utf-8"
    )
    (tmp_path / "said.csv").write_text("id,Candidate Response\n1,Alice did.\n", "utf-8")
    async with judge_server(claimed) as server:
        judge = judge_of(server, tmp_path, kind="claims")
        files = ("score-file", "--benchmark", "gold.csv", "--responses", "said.csv", "--judge", judge)
        plan = await run(*files, "--dry-run", folder=tmp_path)
        assert server.bodies == []
        done = await run(*files, "--out", "evaluation.csv", folder=tmp_path)

    assert plan.stdout.splitlines()[1].split()[:2] == ["claims", "1"], plan.stderr
    assert done.returncode == 0, done.stderr
    assert "Alice in 1900." in server.prompts[0]
    assert "Alice did." in server.prompts[0]
    first, second = rows_of(tmp_path / "evaluation.csv")
    scores = [first[name] for name in ("LLM Recall", "LLM Precision", "LLM F1")]
    assert scores == ["0.5", "1.0", "0.666667"]
    counts = [first[f"{name} Claim Count"] for name in ("Golden Response", "Candidate Response", "Common")]
    assert counts == ["2", "1", "1"]
    assert json.loads(first["Golden Response Claims"]) == ["built by Alice", "in 1900"]
    assert json.loads(second["Unscored"])["LLM F1"] == "not answered"
    assert "LLM F1" in done.stdout
    assert "by:openai/m@" in done.stdout  # the judge is in the columns' signatures


async def test_claims_that_cant_be_read_are_a_reason(tmp_path):
    (tmp_path / "both.csv").write_text(
        "Question,Golden Response,Candidate Response\nWho?,Alice.,Alice\nWhy?,Fun.,Because\n", "utf-8"
    )
    async with judge_server(lambda prompt, n: claimed(prompt, n) if "Alice" in prompt else "no") as server:
        judge = judge_of(server, tmp_path, kind="claims", tries=1)
        files = ("--benchmark", "both.csv", "--responses", "both.csv", "--out", "e.csv")
        done = await run("score-file", *files, "--judge", judge, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "LLM F1: 1 row unscored (the judge's claims can't be read as JSON)." in done.stdout


def test_score_file_takes_one_judge_of_claims_with_one_voter(tmp_path):
    (tmp_path / "both.csv").write_text("Question,Golden Response,Candidate Response\nWho?,A.,A\n", "utf-8")
    files = ("--benchmark", "both.csv", "--responses", "both.csv")
    for judge, complaint in (
        (f"{{correctness: {{{ENDPOINT}}}}}", "only the judge claims fills"),
        (f"{{claims: {{{ENDPOINT}, repeats: 2}}}}", "room for one list of claims"),
    ):
        env = {"OPENAI_API_KEY": "k"}
        done = replay_cli("score-file", *files, "--judge", judge, "--out", "e.csv", cwd=tmp_path, env=env)
        assert complaint in " ".join(done.stderr.split())
    nothing = replay_cli("score-file", *files, "--dry-run", cwd=tmp_path)
    assert "name one with --judge" in nothing.stderr
    assert "--out FILE is missing" in replay_cli("score-file", *files, cwd=tmp_path).stderr
