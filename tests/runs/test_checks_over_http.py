"""Each kind of check on a good and on a bad endpoint, over real HTTP, and under the policies."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from replay.core.errors import RunStoppedError
from replay.results.run import Run
from replay.runs.launch import resume_async, run_async
from replay.runs.rerun import rerun_async
from tests.adapters.servers import answering, completion, delta, streamed
from tests.runs.scenes import playing

KINDS: dict[str, tuple[Any, str, str]] = {
    "contains": ("refund", "Your Refund is due.", "It is due."),
    "not_contains": (["voucher", "coupon"], "You get the money.", "You get a coupon."),
    "contains_any": (["today", "tomorrow"], "It comes tomorrow.", "It comes soon."),
    "regex": (r"\b\d{5}\b", "It is 40172.", "It is 401."),
    "not_regex": ("(?i)as an ai", "Sorry.", "As an AI, I am."),
    "equals": (["Yes.", "No."], "yes.", "Yes, of course."),
    "json_schema": ({"required": ["price"]}, '{"price": 45}', '{"cost": 45}'),
    "jmespath": ({"expression": "items[0].price", "equals": 45}, '{"items": [{"price": 45}]}', "45"),
    "refuses": (True, "I'm sorry, I can't give discounts.", "You get 10 % off."),
    "asks_back": (True, "Which order is it about?", "I have made a note of it."),
    "rubric": ("Names a place.", "It is in Graz.", "It is there."),
    "judge": ({"name": "correctness", "at_least": 1}, "It is in Graz.", "It is there."),
}
"""Its value, an answer that passes and one that fails."""


async def endpoint(request: web.Request) -> web.StreamResponse:
    """Systems called good and bad, and a judge who knows where Graz is."""
    body = await request.json()
    said = body["messages"][-1]["content"]
    if body["model"] == "judge":
        named = "Graz" in said.replace("<right_answer>In Graz.", "")
        return web.json_response(completion("Yes." if named else "No: it names none."))
    answer = KINDS[said][1 if body["model"] == "good" else 2]
    if body.get("stream"):
        return await streamed(request, delta(answer), delta(None, "stop"), b"data: [DONE]\n\n")
    return web.json_response(completion(answer))


def scenario(folder: Path, address: str, talk: Any, **changes: Any) -> dict[str, Any]:
    (folder / "talks.jsonl").write_text(json.dumps(talk) + "\n")

    def model(name: str, **more: Any) -> dict[str, Any]:
        return {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": name, **more}}

    judge = {**model("judge"), "cache": False}
    systems = [{"name": name, **model(name)} for name in ("good", "bad")]
    judges = [{"rubric": judge}, {"correctness": judge}]
    own = {"systems": systems, "policies": ["pred"], "scorers": ["latency"], "judges": judges}
    return playing(folder, **own | changes)


def became(run: Run, system: str) -> dict[str, bool | None]:
    return {one.kind: one.passed for one in run.checks() if one.system == system}


async def test_each_kind_passes_on_a_good_endpoint_and_fails_on_a_bad_one(tmp_path):
    turns = [
        {
            "question": kind,
            "expect": {kind: value},
            **({"gold_answer": "In Graz."} if kind == "judge" else {}),
        }
        for kind, (value, *_) in KINDS.items()
    ]
    async with answering(endpoint) as address:
        run = await run_async(
            scenario(tmp_path, address, {"id": "t", "turns": turns}), runs=tmp_path / "runs"
        )

    assert became(run, "good") == dict.fromkeys(KINDS, True)
    assert became(run, "bad") == dict.fromkeys(KINDS, False)
    assert all(one.evidence and one.reason is None for one in run.checks())
    records, columns = run.scored()
    values = zip(records, columns["check"].observed, strict=True)
    assert Counter((one.system, value) for one, value in values) == {("good", 1): 12, ("bad", 0): 12}


async def test_times_are_checked_where_the_endpoint_streams_and_where_it_does_not(tmp_path):
    expect = [
        {"latency_below_s": 600},
        {"latency_below_s": 1e-9},
        {"ttft_below_s": 600},
        {"ttft_below_s": 1e-9},
    ]
    talk = {"id": "t", "turns": [{"question": "equals", "expect": expect}]}
    async with answering(endpoint) as address:
        plain = scenario(tmp_path, address, talk, judges=[])
        systems = plain["systems"]
        systems[0]["settings"]["stream"] = True
        run = await run_async(plain, runs=tmp_path / "runs")

    passed = {name: [one.passed for one in run.checks() if one.system == name] for name in ("good", "bad")}
    assert passed == {"good": [True, False, True, False], "bad": [True, False, None, None]}
    reasons = {one.reason for one in run.checks() if one.passed is None}
    assert reasons == {"no time of a first token reported"}


async def test_the_same_checks_hold_under_every_policy_and_a_skipped_turn_is_never_passed(tmp_path):
    turns = [
        {"question": "Which plan do you recommend for three people?", "gold_answer": "The Family plan."},
        {"question": "How much does it cost?", "gold_answer": "14 euros.", "expect": {"contains": "euros"}},
    ]
    talk = {"id": "t", "turns": turns, "expect": {"not_contains": "euros"}}
    answers = ["The Business plan.", "29 euros."]
    system = {"name": "bot", "adapter": "scripted", "settings": {"answers": answers}}
    policies = ["gold", "pred", "rewrite", "replace", "filter"]
    run = await run_async(
        scenario(tmp_path, "", talk, systems=[system], policies=policies, judges=[]), runs=tmp_path / "runs"
    )

    assert {r.edit for r in run.records()} == {"kept", "rewritten", "not-found", "filtered"}
    found = {one.policy: [] for one in run.checks()}
    for one in run.checks():
        found[one.policy].append((one.at_end, one.passed, one.reason))
    both = [(False, True, None), (True, False, None)]
    skipped = [(False, None, "skipped"), (True, True, None)]
    assert found == {**dict.fromkeys(policies[:4], both), "filter": skipped}
    assert Counter(one.reason for one in run.checks() if one.passed is None) == {"skipped": 1}


async def test_a_run_that_stopped_is_checked_once_it_is_resumed_and_anew_where_turns_are_asked_again(
    tmp_path,
):
    asked: list[str] = []

    async def mended(request: web.Request) -> web.StreamResponse:
        asked.append((await request.json())["messages"][-1]["content"])
        return web.Response(status=500) if len(asked) == 1 else web.json_response(completion("Hello."))

    expect = {"contains": "hello"}
    lines = [{"id": n, "turns": [{"question": n, "expect": expect}], "expect": expect} for n in "ab"]
    async with answering(mended) as address:
        plain = scenario(tmp_path, address, lines[0], judges=[])
        (tmp_path / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        plain["systems"] = plain["systems"][:1]
        plain["play"] = {"attempts": 1, "stop_after": 1, "concurrency": 1}
        with pytest.raises(RunStoppedError):
            await run_async(plain, runs=tmp_path / "runs")
        (folder,) = (tmp_path / "runs").iterdir()
        assert Run(folder).checks() == []

        await resume_async(folder)
        found = [(one.conversation, one.at_end, one.passed, one.reason) for one in Run(folder).checks()]
        failed = "not answered: refused"
        assert found == [
            ("a", False, None, failed),
            ("a", True, None, failed),
            ("b", False, True, None),
            ("b", True, True, None),
        ]

        await rerun_async(folder)
    assert asked == ["a", "b", "a"]
    assert [(one.conversation, one.passed) for one in Run(folder).checks()] == [
        ("a", True),
        ("a", True),
        ("b", True),
        ("b", True),
    ]
    assert Run(folder).scored()[1]["check"].observed == [1.0, 1.0]
