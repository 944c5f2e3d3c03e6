"""Runs that pages are tried with: written straight into a database, without playing anything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.drift_evidence import Drift, Mention, MentionDrift, Reading
from replay.core.expectation import CheckResult
from replay.core.message import Message, ToolCall
from replay.core.record import Timing, TurnRecord, Usage
from replay.results.verdict_columns import keep_people
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.people import HumanNumber, HumanScores, HumanTable, PeopleGroup, PeopleRow, PeopleScore
from replay.statistics.score_column import ScoreColumn
from replay.store.rows import StoredScore, StoredVerdict
from replay.store.store import RunStore
from replay.viewer.conversation_view import ConversationView, conversation_view
from replay.viewer.live_run import LiveRun
from replay.viewer.pages import render
from tests.runs.scorer_entries import scorer_entry

SCENARIO = """\
name: made
data: {path: made.jsonl}
systems: [{name: made, adapter: scripted}]
policies: [gold, pred]
"""
ASSERTING = """\
name: made
data: {path: made.jsonl}
systems: [{name: made, adapter: scripted, settings: {answers: gold}}]
policies: [gold, pred]
assert:
  - {metric: f1, policy: pred, min: 0.6}
  - {metric: f1, policy: gold, min: 0.6}
"""
Scores = Mapping[str, Mapping[tuple[str, str, int], Any]]
"""By scorer, then policy, conversation and depth; a text is the reason for none."""


def record(
    conversation: str, depth: int, policy: str = "gold", answer: str | None = "Yes.", **more: Any
) -> TurnRecord:
    at = float(depth)
    known: dict[str, Any] = {
        "system": "made",
        "turn": f"{conversation}#{depth}",
        "recorded": f"Question {depth}?",
        "asked": f"Question {depth}?",
        "edit": "kept",
        "drift": None,
        "outcome": "answered" if answer is not None else "timed-out",
        "gold_answers": ("Yes.",),
        "timing": Timing(scheduled_s=at, sent_s=at, first_token_s=at + 0.1, done_s=at + 0.25),
    }
    return TurnRecord(
        conversation=conversation, depth=depth, policy=policy, answer=answer, **{**known, **more}
    )


def talk(id: str, turns: int = 2, **more: Any) -> Conversation:
    return Conversation(
        id=id,
        turns=tuple(
            Turn(id=f"{id}#{n}", question=f"Question {n}?", gold_answers=("Yes.",))
            for n in range(1, turns + 1)
        ),
        **more,
    )


def create(
    folder: Path, policies: Sequence[str] | Mapping[str, str] = ("gold", "pred"), **facts: Any
) -> RunStore:
    """A run's database, open for writing; close it."""
    known = {
        "scenario": {"text": SCENARIO, "source": "made.yaml", "folder": str(folder.parent)},
        "name": "made",
        "seed": 1,
        "begun": "2026-01-02T03:04:05.000+00:00",
        "version": "0.1.0",
        "python": "3.11",
        "platform": "made up",
        "systems": ["made"],
        "policies": dict(policies)
        if isinstance(policies, Mapping)
        else {policy: policy for policy in policies},
        "histories": {"made": {p: "gold" if p in ("gold", "augment") else "own" for p in policies}},
    }
    return RunStore.create(folder, {**known, **facts})


async def add(store: RunStore, conversations: Sequence[Conversation], records: Sequence[TurnRecord]) -> None:
    at = len(store.conversation_lengths())
    store.add_conversations(conversations, at)
    await asyncio.gather(*(store.write(one) for one in records))


def finish(store: RunStore, scores: Scores) -> None:
    """Keep *scores* as a scored run does."""
    for name, values in scores.items():
        rows = [
            StoredScore(c, "made", p, d, None if isinstance(v, str) else v, v if isinstance(v, str) else None)
            for (p, c, d), v in values.items()
        ]
        store.add_scores(name, rows)
    store.set_fact("scorers", [scorer_entry(name) for name in scores])
    store.set_fact("finished", True)
    store.add_event("scored", {})


def make_run(
    folder: Path,
    conversations: Sequence[Conversation],
    records: Sequence[TurnRecord],
    scores: Scores,
    **facts: Any,
) -> Path:
    """A finished run."""
    policies = list(dict.fromkeys(one.policy for one in records))
    store = create(folder, policies, **facts)
    try:
        asyncio.run(add(store, conversations, records))
        finish(store, scores)
    finally:
        store.close()
    return folder


def seen(folder: Path, id: str = "a", **more: Any) -> ConversationView:
    """The view of a conversation of the run in *folder*, as the viewer has it."""
    with closing(LiveRun("run", folder)) as watched:
        view = conversation_view(watched.browser, id, watched.score_kinds(), **more)
    assert view is not None
    return view


def page_of(view: ConversationView) -> str:
    return render("conversation.html", view=view, back="#")


EVIL = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "\"'><svg onload=window.hacked=3> {{ 7 * 7 }} <!-- \u202ereversed\u202c \x00 \udc80 \u2028 &amp;"
)
EVIL_STEPS = (
    Message(role="assistant", text=EVIL, tool_calls=(ToolCall(id=EVIL, name=EVIL, arguments=EVIL),)),
    Message(role="tool", text=EVIL, name=EVIL, tool_call_id=EVIL, left_out=(EVIL,)),
)
SQL_EVIL = EVIL.replace("\udc80", "")
"""For what is kept as SQL text: reasons and names are ours, or a scenario's, which is UTF-8."""


def people_run(folder: Path, study: str = "Covers gold?") -> Path:
    """Two conversations of three turns, which two people judged in *study*, under both policies."""
    values = {(c, depth): (1.0, 0.5, 0.0)[depth - 1] for c in ("a", "b") for depth in (1, 2, 3)}
    records = [record(c, depth, policy) for policy in ("gold", "pred") for c, depth in values]
    f1 = {(r.policy, r.conversation, r.depth): 1.0 for r in records}
    make_run(folder, [talk("a", 3), talk("b", 3)], records, {"f1": f1})
    score = PeopleScore(unit="share", signature="people:2|mean", by_people=True)
    people = HumanScores(
        study=study,
        raters=2,
        scores={"human_correct": score, "f1": PeopleScore(unit="share", signature="f1", by_people=False)},
        groups=[_judged(policy) for policy in ("gold", "pred")],
        tables=[
            HumanTable(
                title="Agreement among raters",
                columns=("score", "depth", "Cohen's kappa"),
                rows=[(study, 1, HumanNumber(value=None, note="all ratings are equal")), ("x", "all", 0.598)],
                caption="On turns that two raters judged.",
            ),
            HumanTable(
                title="Long table", columns=("n", "share"), rows=[(n, _share(0.5)) for n in range(21)]
            ),
        ],
    )
    column = ScoreColumn(
        scorer=StoredScorer(signature=score.signature, unit="share", lower_is_better=False),
        observed=[values[one.conversation, one.depth] for one in records],
    )
    store = RunStore(folder, write=True)
    try:
        keep_people(store, people, records, {"human_correct": column})
    finally:
        store.close()
    return folder


def _judged(policy: str) -> PeopleGroup:
    rows = [
        PeopleRow(depth=depth, turns=turns, scores={"human_correct": _share(value), "f1": _share(1.0)})
        for depth, turns, value in ((1, 2, 1.0), (2, 2, 0.5), (3, 2, 0.0), (None, 6, 0.5))
    ]
    return PeopleGroup(system="made", policy=policy, rows=rows)


def _share(value: float) -> HumanNumber:
    return HumanNumber(value=value, low=value / 2, high=(1 + value) / 2, unit="share")


def failing_run(folder: Path) -> Path:
    """Two conversations; turn 2 of ``a`` and both of ``b`` pull F1 under ``pred`` below what is asserted."""
    values = {("a", 1): 1.0, ("a", 2): 0.25, ("b", 1): 0.5, ("b", 2): 0.0}
    records = [record(c, depth, policy) for policy in ("gold", "pred") for c, depth in values]
    f1 = {(r.policy, r.conversation, r.depth): values[r.conversation, r.depth] for r in records}
    f1 |= {turn: 1.0 for turn in f1 if turn[0] == "gold"}
    scores = {"f1": f1, "em": {turn: float(value == 1) for turn, value in f1.items()}}
    scenario = {"text": ASSERTING, "source": "made.yaml", "folder": str(folder.parent)}
    return make_run(folder, [talk("a", title="Harbours"), talk("b")], records, scores, scenario=scenario)


def drifted(text: str = "she") -> Drift:
    mention = Mention(start=0, end=len(text), text=text, kind="she")
    reading = Reading(mention=mention, antecedent=EVIL, source="name")
    other = Reading(mention=mention, antecedent="<b>Bob</b>")
    row = MentionDrift(gold=reading, predicted=other, state="drifted", overlap=0.0, probability=0.9)
    return Drift(valid=False, mentions=(row,), mode="strict", probability=0.9)


def hostile_run(folder: Path) -> Path:
    """Everything that a system or a data set can say is an attack here."""
    evil_id = "c<i>\"'&?#/../\u202e"
    turns = (
        Turn(
            id="1",
            question=EVIL,
            gold_answers=(EVIL, "=1+1"),
            standalone=EVIL,
            asked_with=(Message(role="system", text=f"You are terse. {EVIL}"),),
            gold_passages=("p",),
            fact=EVIL,
            steps=EVIL_STEPS,
        ),
        Turn(id="2", question="she " + EVIL, gold_answers=("x",)),
        Turn(id="3", question="Long?", gold_answers=("y",)),
    )
    conversation = Conversation(id=evil_id, title=EVIL, section=EVIL, background=EVIL * 50, turns=turns)
    records = []
    for policy in ("gold", "pred", "<u>rewrite</u>"):
        shared: dict[str, Any] = {"policy": policy, "usage": Usage(prompt_tokens=3), "cost_usd": 0.01}
        records += [
            record(
                evil_id,
                1,
                answer=EVIL,
                recorded=EVIL,
                asked=EVIL + " more",
                edit="rewritten",
                gold_answers=(EVIL,),
                gold_passages=("p",),
                passages=(Passage(id="p", title=EVIL, text=EVIL),),
                steps=EVIL_STEPS,
                **shared,
            ),
            record(
                evil_id, 2, answer=None, recorded="she " + EVIL, asked="she " + EVIL, error=EVIL,
                partial=EVIL, outcome="cut-off", drift=drifted(), edit_note=EVIL, **shared,
            ),
            record(evil_id, 3, answer="<b>" + "long " * 20_000, recorded="Long?", asked="Long?", **shared),
        ]  # fmt: skip
    scores = {
        name: {(r.policy, evil_id, r.depth): SQL_EVIL if r.depth == 2 else 0.5 for r in records}
        for name in ("f1", "em")
    }
    make_run(folder, [conversation], records, scores, name="hostile")
    store = RunStore(folder, write=True)
    try:
        evidence = {"reason": EVIL, "list": [EVIL, {"a": EVIL}]}
        vote = {"voter": EVIL, "values": {"": 0.5}, "evidence": evidence, "flags": ["flag " + EVIL] * 2}
        vote |= {"asks": [{"text": EVIL}]}
        data = {"values": {"correct": 0.5}, "repeats": [{"values": {}, "votes": [vote]}], "prompts": {}}
        store.add_verdict(StoredVerdict(SQL_EVIL, evil_id, "made", "pred", 1, 1, 0, None, data))
        store.add_checks(
            [
                CheckResult(
                    conversation=evil_id,
                    system="made",
                    policy=policy,
                    depth=2,
                    at_end=at_end,
                    position=n,
                    kind="not_contains",
                    called=EVIL,
                    value={"text": EVIL, "list": [EVIL]},
                    passed=passed,
                    reason=EVIL,
                    evidence=EVIL,
                )
                for policy in ("gold", "pred", "<u>rewrite</u>", "never played")
                for at_end in (False, True)
                for n, passed in enumerate((True, False, None))
            ]
        )
        tally = {"name": SQL_EVIL, "signature": SQL_EVIL, "units": {}}
        store.set_fact("judged", [tally])
    finally:
        store.close()
    return folder
