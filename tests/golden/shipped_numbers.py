"""
What the shipped parts make of the shipped conversations: readings, rewrites, verdicts, plans, scores, tables;
and what the resolvers make of corner cases.

The extractive system's answers are a file of their own, and all other files are about the answers in there,
so that another answer is one difference and not a thousand.

Of the embedded resolver no probability is kept, as these may differ between processors
(``docs/drift-measurements.md``): only what is decided by them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from replay.core.adapter import Adapter, ChatReply, ChatRequest
from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift, Reading
from replay.core.history import PlayedTurn, gold_history, own_history
from replay.core.record import Timing, TurnRecord, Usage
from replay.core.settings.plugins import available, build, load
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.mentions import find_mentions
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import Resolver, document_of, recorded_document
from replay.coreference.reading.rewriting import rewrite
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.coreference.standalone import standalone_questions
from replay.datasets.loading import read_conversations
from replay.datasets.native import native_line
from replay.play.play import Play, System
from replay.play.player import Player, PlayOptions
from replay.policies.augment import AugmentPolicy
from replay.policies.policy import Policy
from replay.policies.recorded import FilterPolicy, GoldPolicy, PredPolicy, ReplacePolicy
from replay.policies.rewrite import RewritePolicy, SubstitutionRewriter
from replay.scenario.reading import read_scenario
from replay.scenario.shipped import find_scenario, shipped_folder
from replay.scorers.scorer import Scorer, Unscored
from replay.statistics import VERSION as STATISTICS
from replay.statistics.depth_table import COUNTS, depth_table
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.paired import policy_gaps
from replay.statistics.score_column import score_columns
from replay.testing import FakeClock, ScriptedSystem
from replay_adapters.local.extractive import VERSION as EXTRACTIVE, ExtractiveAdapter
from tests.golden.corner_cases import MORE_QUESTIONS, QUESTIONS, documents
from tests.golden.golden_file import Golden, kept, plain
from tests.samples import Recorded

RESOLVERS: Mapping[str, Resolver] = {"embedded": EmbeddedResolver()}
MODES: Mapping[str, Mapping[str, Any]] = {
    "strict": {"mode": "strict"},
    "hard": {"mode": "hard"},
    "evalconvqa": {"mode": "evalconvqa", "window": 2},
    "evalconvqa+em": {"mode": "evalconvqa", "match": "em", "window": 2},
}
ANSWERED = ("gold", "pred", "rewrite")
"""The quickstart's policies whose answers are kept; ``replace`` would take longer and show nothing else."""
TABLED = ("em", "f1", "bleu1", "rouge_l", "bleu4", "heq_d")
"""What tables are made of: the quickstart's scorers, one that is no mean, one of whole conversations."""
WEIGHED = {"bertscore", "coverage", "similarity"}
"""Scorers that need a model's weights, whose numbers are the model's."""
WINDOW = 6
SEED = 1

_READER = "replay/coreference/reading"
RAISED: Mapping[str, str] = {
    "embedded": f"VERSION in {_READER}/embedded.py",
    "strict": f"STRICT_VERSION in {_READER}/verdict.py",
    "hard": f"HARD_VERSION in {_READER}/verdict.py",
    "evalconvqa": f"VERSION in {_READER}/evalconvqa.py",
    "substitution": "SUBSTITUTION_VERSION in replay/policies/rewrite.py",
    "extractive": "VERSION in adapters/replay_adapters/local/extractive.py",
    "statistics": "VERSION in replay/statistics/__init__.py",
}
"""Where what changes a number says that it has."""


@cache
def conversations() -> tuple[Conversation, ...]:
    """Those that are shipped."""
    files = sorted((shipped_folder() / "conversations").glob("*.jsonl"))
    return tuple(read_conversations(files, reader=None, on_bad=None, limit=None))


def questions(every: int = 1) -> Iterator[tuple[str, Conversation, int]]:
    """What each question of one in *every* so many conversations is called in a file, its conversation, and
    its depth."""
    for conversation in conversations()[::every]:
        for depth in range(1, len(conversation.turns) + 1):
            yield place(conversation.id, depth), conversation, depth


def place(conversation: str, depth: int) -> str:
    return f"{conversation}#{depth}"


def what_is_read(answers: Golden | None = None) -> str:
    """The conversations, and the *answers* to them, by a hash of their content."""
    # Lines of the native format hold no empty field, so a field that is new changes nothing here.
    read = f"conversations {_digest(b''.join(map(native_line, conversations())))}"
    return read if answers is None else f"{read}, answers {_digest(answers.written().encode())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


Content = tuple[Golden, Mapping[str, str]]
"""What a file should hold, and by column what to raise if something moved."""


# The system's answers ---------------------------------------------------------------------------------------


async def _answers() -> Content:
    """What the extractive system answers under the quickstart's policies."""
    async with _service("embedded") as service:
        policies = {name: one for name, one in _policies(service).items() if name in ANSWERED}
        played = {name: await _play(policy, ExtractiveAdapter()) for name, policy in policies.items()}
    rows: dict[str, dict[str, Any]] = {}
    for name, records in played.items():
        for record in records:
            row = rows.setdefault(place(record.conversation, record.depth), {})
            used = [passage.id.removeprefix(f"{record.conversation}:") for passage in record.passages]
            row[name] = [record.answer, used]
    versions = {name: f"extractive-{EXTRACTIVE}|{policy.signature}" for name, policy in policies.items()}
    raised = dict.fromkeys(versions, f"raise {RAISED['extractive']}, or the version of what the policy uses")
    return Golden(of=what_is_read(), versions=versions, rows=plain(rows)), raised


@cache
def answers() -> Golden:
    """The same as its file has it, which all other files are about."""
    return kept("answers")


Asked = dict[tuple[str, int], ChatRequest]
"""What was asked, by conversation and depth."""


def _scripted(policy: str, asked: Asked | None = None) -> ScriptedSystem:
    """A system that answers as the extractive one did under *policy*; *asked* gets its requests."""
    passages = {passage.id: passage for one in conversations() for passage in one.passages}
    script: dict[str, list[ChatReply]] = {one.id: [] for one in conversations()}
    for at, conversation, _ in questions():
        text, used = answers().rows[at][policy]
        shown = tuple(passages[f"{conversation.id}:{name}"] for name in used)
        script[conversation.id].append(ChatReply(text=text, passages=shown))

    def answer(request: ChatRequest, conversation: Conversation) -> ChatReply:
        if asked is not None:
            asked[conversation.id, request.depth] = request
        return script[conversation.id][request.depth - 1]

    return ScriptedSystem(answer)


async def _play(policy: Policy, adapter: Adapter) -> list[TurnRecord]:
    """The records of all conversations, one after another, by a clock that ticks when it is looked at."""
    sink = Recorded()
    player = Player(sink, PlayOptions(clock=FakeClock(step_s=1.0), start=0.0))
    system = System(name="extractive", adapter=adapter)
    for conversation in conversations():
        name = policy.signature.partition("|")[0]
        await player.play(Play(system=system, policy_name=name, policy=policy, conversation=conversation))
    return sink.records


def _service(resolver: str) -> CoreferenceService:
    return CoreferenceService(ResolverChoice(name=resolver, settings={}, folder=Path()), workers=0)


def _policies(service: CoreferenceService) -> dict[str, Policy]:
    """All that are shipped, by what their columns are called."""
    detector = DriftDetector(service=service, window=WINDOW)
    return {
        "gold": GoldPolicy(),
        "pred": PredPolicy(detector=detector),
        "rewrite": RewritePolicy(detector=detector),
        "replace": ReplacePolicy(detector=detector),
        "filter": FilterPolicy(detector=detector),
        "augment": AugmentPolicy(detector=detector),
        "augment-prefix": AugmentPolicy(detector=detector, mode="prefix"),
        "augment-both": AugmentPolicy(detector=detector, mode="both"),
    }


# Everything else, given these answers -----------------------------------------------------------------------


def _readings(name: str, *, every: int = 1) -> Content:
    """What each mention means after the gold answers and after the system's own."""
    resolver = RESOLVERS[name]
    rows: dict[str, dict[str, Any]] = {}
    for at, conversation, depth in questions(every):
        question = conversation.turns[depth - 1].question
        own = own_history(_played(conversation, depth))
        sides = {
            "gold": recorded_document(conversation, depth, window=WINDOW, background=True),
            "own": document_of(conversation, question, own, window=WINDOW, background=True),
        }
        readings = read_all(resolver, list(sides.values()))
        gold, after_own = ([*map(_reading, filter(_is_read, found))] for found in readings)
        rows[at] = {"gold": gold, "own": "as gold" if after_own == gold else after_own}
    versions = dict.fromkeys(("gold", "own"), resolver.signature)
    golden = Golden(of=what_is_read(answers()), versions=versions, rows=plain(rows))
    return golden, dict.fromkeys(versions, f"raise {RAISED[name]}")


def _is_read(reading: Reading) -> bool:
    """Whether *reading* says what is meant; the others are where a question leans on nothing, probably."""
    return reading.antecedent is not None


def _reading(reading: Reading) -> list[Any]:
    return [reading.mention.text, reading.mention.start, reading.antecedent, reading.source]


def _corner_cases(*, every: int = 1) -> Content:
    """Each mention's best antecedent; the question if rewritten; of one case in *every* so many."""
    whole = dict(documents())
    cases = dict(list(whole.items())[::every])
    rows: dict[str, dict[str, Any]] = {at: {} for at in cases}
    for name, resolver in RESOLVERS.items():
        for (at, document), readings in zip(
            cases.items(), read_all(resolver, list(cases.values())), strict=True
        ):
            rows[at][name] = [[one.mention.text, one.antecedent] for one in readings if _is_read(one)]
            rewritten = rewrite(document.question, readings)
            if rewritten != document.question:
                rows[at][name].append(rewritten)
    of = f"corner cases {_digest(msgspec.json.encode(whole))}"
    rewriter = SubstitutionRewriter().signature
    versions = {name: f"{resolver.signature}|{rewriter}" for name, resolver in RESOLVERS.items()}
    raised = {name: f"raise {RAISED[name]}, or {RAISED['substitution']}" for name in RESOLVERS}
    return Golden(of=of, versions=versions, rows=plain(rows)), raised


def _mentions() -> Content:
    """What stands for something else in a question, and whether it owns something."""
    rows = {
        question: {"mentions": [[one.text, one.start, one.kind, one.possessive] for one in found]}
        for question in (*QUESTIONS, *MORE_QUESTIONS)
        for found in (find_mentions(question),)
    }
    versions = {"mentions": "|".join(resolver.signature for resolver in RESOLVERS.values())}
    raised = {"mentions": f"raise {RAISED['embedded']}"}
    of = f"questions {_digest(msgspec.json.encode([*rows]))}"
    return Golden(of=of, versions=versions, rows=plain(rows)), raised


def _rewrites() -> Content:
    """Every recorded question as it is put to stand alone."""
    rows: dict[str, dict[str, Any]] = {}
    for name, resolver in RESOLVERS.items():
        for conversation in conversations():
            for one in standalone_questions(conversation, resolver, window=WINDOW):
                rows.setdefault(place(conversation.id, one.depth), {})[name] = one.rewritten
    by = SubstitutionRewriter().signature
    versions = {name: f"{resolver.signature}|{by}" for name, resolver in RESOLVERS.items()}
    raised = {name: f"raise {RAISED['substitution']}, or {RAISED[name]}" for name in RESOLVERS}
    return Golden(of=what_is_read(), versions=versions, rows=rows), raised


async def _verdicts(name: str, *, every: int = 1) -> Content:
    """Whether each question drifted after the system's own answers, and why, by each rule."""
    rows: dict[str, dict[str, Any]] = {}
    async with _service(name) as service:
        detectors = {
            mode: DriftDetector(service=service, **{"window": WINDOW, **how}) for mode, how in MODES.items()
        }
        for at, conversation, depth in questions(every):
            played = _played(conversation, depth)
            found = {mode: await one.assess(conversation, depth, played) for mode, one in detectors.items()}
            rows[at] = {mode: _verdict(one.drift) for mode, one in found.items()}
            rows[at]["published"] = found["evalconvqa"].published
    versions = {mode: detector.signature for mode, detector in detectors.items()}
    versions["published"] = versions["evalconvqa"]
    raised = {mode: f"raise {RAISED[mode.partition('+')[0]]}, or {RAISED[name]}" for mode in detectors}
    raised["published"] = raised["evalconvqa"]
    return Golden(of=what_is_read(answers()), versions=versions, rows=plain(rows)), raised


def _verdict(drift: Drift) -> list[Any]:
    """Valid or not, and each mention that either history gives a meaning."""
    mentions = [
        [one.gold.mention.text, one.state, one.overlap]
        for one in drift.mentions
        if _is_read(one.gold) or _is_read(one.predicted)
    ]
    return ["valid" if drift.valid else "invalid", mentions]


async def _plans() -> Content:
    """How each question is edited and put, and how long which history is."""
    rows: dict[str, dict[str, Any]] = {at: {} for at, _, _ in questions()}
    by_id = {one.id: one for one in conversations()}
    async with _service("embedded") as service:
        policies = _policies(service)
        for name, policy in policies.items():
            asked: Asked = {}
            records = await _play(policy, _scripted(name if name in ANSWERED else "pred", asked))
            for record in records:
                plan: list[Any] = [record.edit]
                if request := asked.get((record.conversation, record.depth)):
                    plan += [len(request.history), _whose(by_id[record.conversation], request)]
                    plan += [] if request.question == record.recorded else [request.question]
                rows[place(record.conversation, record.depth)][name] = plan
    versions = {name: policy.signature for name, policy in policies.items()}
    raised = {
        name: f"change the signature in replay/policies/{name.partition('-')[0]}.py, or raise the version of "
        "what its signature names"
        for name in policies
    }
    return Golden(of=what_is_read(answers()), versions=versions, rows=rows), raised


def _whose(conversation: Conversation, request: ChatRequest) -> str:
    """Whose answers stand in the history that was shown."""
    gold = gold_history(conversation, request.depth)
    return "none" if not request.history else "gold" if request.history == gold else "own"


def _scorers() -> dict[str, Scorer[Any]]:
    """All of the shipped scenario that has every scorer, but for those that need a model's weights."""
    file = read_scenario(find_scenario("metrics"))
    return {
        choice.label: build(load("scorers", choice.name, file.folder), choice.settings, folder=file.folder)
        for choice in file.scenario.scorers
        if choice.name not in WEIGHED
    }


def _scores() -> Content:
    """What each scorer observes in each turn after the system's own answers."""
    scorers, records = _scorers(), _records("pred")
    turns = [*map(_with_costs, records, range(len(records)))]
    rows: dict[str, dict[str, Any]] = {place(one.conversation, one.depth): {} for one in records}
    for label, scorer in scorers.items():
        for at, value in zip(rows, scorer.observe(turns), strict=True):
            rows[at][label] = f"unscored: {value.reason}" if isinstance(value, Unscored) else value
    homes = {label: available("scorers")[label.partition("(")[0]].module for label in scorers}
    raised = {
        label: f"change the signature in {module.replace('.', '/')}.py" for label, module in homes.items()
    }
    versions = {label: scorer.signature for label, scorer in scorers.items()}
    return Golden(of=what_is_read(answers()), versions=versions, rows=plain(rows)), raised


@cache
def _records(name: str) -> list[TurnRecord]:
    """What becomes of the turns under the policy called *name*."""

    async def played() -> list[TurnRecord]:
        async with _service("embedded") as service:
            return await _play(_policies(service)[name], _scripted(name))

    return asyncio.run(played())


def _with_costs(record: TurnRecord, number: int) -> TurnRecord:
    """*record* with times, tokens and a price that differ from turn to turn."""
    done_s = 0.1 * (number % 7 + 2)
    return msgspec.structs.replace(
        record,
        timing=Timing(scheduled_s=0.0, sent_s=0.0, first_token_s=done_s / 2, done_s=done_s),
        usage=Usage(prompt_tokens=100 + number, completion_tokens=number % 13),
        cost_usd=number / 1000,
    )


def _depth_table() -> Content:
    """The depth table of the quickstart's policies, with both kinds of interval."""
    scorers, turns = _quickstart()
    columns = score_columns(turns, scorers)
    lengths = {one.id: len(one.turns) for one in conversations()}
    rows: dict[str, dict[str, Any]] = {}
    for method in METHOD_NAMES:
        table = depth_table(turns, columns, lengths, seed=SEED, method=method)
        for group in table.groups:
            for row in group.rows:
                found = rows.setdefault(f"{group.group.policy}/{row.depth or 'all'}", {})
                found["counts"] = [row.counts()[name] for name in COUNTS[1:]]
                for label, score in row.scores.items():
                    ends = [score.no_interval] if score.no_interval else [score.low, score.high]
                    found[f"{label} {method}"] = [score.value, score.scored, *ends]
    versions = {
        f"{label} {method}": f"statistics-{STATISTICS}|{scorer.signature}"
        for label, scorer in scorers.items()
        for method in METHOD_NAMES
    }
    versions = {"counts": f"statistics-{STATISTICS}", **versions}
    return Golden(of=what_is_read(answers()), versions=versions, rows=plain(rows)), _raised_in_tables(
        versions
    )


def _gaps() -> Content:
    """By how much the other policies' scores lie below those of gold, on the same turns."""
    scorers, turns = _quickstart()
    rows: dict[str, dict[str, Any]] = {}
    for gap in policy_gaps(turns, score_columns(turns, scorers), seed=SEED):
        for row in (*gap.depths, gap.total):
            ends = [row.no_interval] if row.no_interval else [row.low, row.high]
            at = f"{gap.second.policy}/{row.depth or 'all'}"
            rows.setdefault(at, {})[gap.score] = [row.value, row.turns, *ends]
    versions = {label: f"statistics-{STATISTICS}|{scorer.signature}" for label, scorer in scorers.items()}
    return Golden(of=what_is_read(answers()), versions=versions, rows=plain(rows)), _raised_in_tables(
        versions
    )


def _raised_in_tables(columns: Mapping[str, str]) -> Mapping[str, str]:
    words = f"raise {RAISED['statistics']}, or the version of what the numbers come from (see other files)"
    return dict.fromkeys(columns, words)


def _quickstart() -> tuple[dict[str, Scorer[Any]], list[TurnRecord]]:
    """What tables are made of."""
    scorers, records = _scorers(), [record for name in ANSWERED for record in _records(name)]
    return {name: scorers[name] for name in TABLED}, [*map(_with_costs, records, range(len(records)))]


def _played(conversation: Conversation, depth: int) -> tuple[PlayedTurn, ...]:
    """The turns before *depth* as they were played under ``pred``."""
    rows = answers().rows
    return tuple(
        PlayedTurn(turn=turn, asked=turn.question, answer=rows[place(conversation.id, number)]["pred"][0])
        for number, turn in enumerate(conversation.turns[: depth - 1], 1)
    )


FILES: Mapping[str, Callable[..., Content | Coroutine[Any, Any, Content]]] = {
    "mentions": _mentions,
    "corner-cases": _corner_cases,
    "readings-embedded": partial(_readings, "embedded"),
    "rewrites": _rewrites,
    "verdicts-embedded": partial(_verdicts, "embedded"),
    "answers": _answers,
    "plans": _plans,
    "scores": _scores,
    "depth-table": _depth_table,
    "gaps": _gaps,
}
"""What comes from others stands behind them, so that the first to fail is nearest to the cause."""


SAMPLED = ("corner-cases", "readings-embedded", "verdicts-embedded")
"""Files of which a part can be made."""


def content(name: str, **part: int) -> Content:
    """What the file called *name* should hold now, the answers being those of their file; *part* for one of
    ``SAMPLED``: ``every`` so many of what it is about, one."""
    found = FILES[name](**part)
    return asyncio.run(found) if isinstance(found, Coroutine) else found
