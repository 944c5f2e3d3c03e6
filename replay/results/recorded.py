"""
Recorded against now: each answer of a run held against the one that was recorded.

What decides, first to last: no answer came; the data's checks, which both answers are looked at with; a
pairwise judge; that both say the same (``same_answer.py``); a score against the turn's other gold answers; a
refusal where the recorded one answered. Where none of them does, the answers *differ*, which is no fault. A
recorded answer that the log's user objected to, or one to a question that means something else now, is no
reference: nothing is worse for refusing what it says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from threading import Event
from typing import Any, NamedTuple

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import RunError
from replay.core.expectation import CheckResult
from replay.core.record import RECORDED_BETTER, RECORDED_WORSE, TurnRecord
from replay.results.checking import play_checks
from replay.results.same_answer import compare_answers, word_likeness
from replay.results.scoring import stored_score
from replay.results.verdict_columns import StoredVerdicts, judged_of
from replay.scenario.sections import BAD_ANSWERS, BAD_CONVERSATION, RecordedSection
from replay.scorers.answer_text import DECLINING_PATTERNS
from replay.scorers.checks.check import NoVerdicts
from replay.scorers.checks.english import refusal_in
from replay.scorers.judges.pairwise import SIGNATURE
from replay.scorers.reference_score import ReferenceScore
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.recorded import RecordedTurn, RecordedVerdict
from replay.statistics.score_column import in_parts
from replay.store.rows import StoredVerdict
from replay.store.store import RunStore

RECORDED = "recorded"
"""The fact of a run that holds the section's settings, and the signature of its columns."""
KEPT_AS = "recorded answers"
"""Under which the verdicts stand beside those of judges, whose names have no spaces."""
_TURN = ("conversation", "system", "policy", "depth")
NO_RECORDED = Unscored(reason="no recorded answer")
SKIPPED = Unscored(reason="skipped")


class KeptComparison(msgspec.Struct, frozen=True):
    """What a run keeps of the comparison beside its verdicts."""

    section: dict[str, Any]
    signature: str

    @property
    def settings(self) -> RecordedSection:
        """The section of the scenario, or what was in its place."""
        return RecordedSection.model_validate(self.section)


class _Decision(NamedTuple):
    verdict: RecordedVerdict
    by: str
    evidence: str


class _JudgeVerdicts(NamedTuple):
    """A pairwise judge's verdicts."""

    column: str
    verdicts: StoredVerdicts


def recorded_scores(store: RunStore) -> dict[str, StoredScorer]:
    """Return a scorer for each column of the comparison, by the column's name; empty without it."""
    kept = _kept_comparison(store)
    if kept is None:
        return {}
    return {
        name: StoredScorer(
            signature=f"{name}:{kept.signature}", unit=SHARE, lower_is_better=name == RECORDED_WORSE
        )
        for name in (RECORDED_WORSE, RECORDED_BETTER)
    }


def compare_recorded_into(
    store: RunStore, section: RecordedSection | None, stop: Event | None = None
) -> None:
    """
    Hold every answer in *store* against the recorded one; earlier verdicts stay where *stop* is set before.

    Judges and checks come first, since what they found is read here.

    Args:
        store: A finished run, to be written.
        section: None for the settings with which that was done before, if it was.
        stop: Ends it between conversations.
    """
    store.settle()
    kept = _kept_comparison(store)
    section = section or (kept.settings if kept else None)
    if section is None:
        return
    judged = _judge_verdicts(store, section)
    checks: dict[tuple[str, str, str], list[CheckResult]] = defaultdict(list)
    for check in store.checks():
        checks[check.conversation, check.system, check.policy].append(check)
    conversation_of = lru_cache(maxsize=1)(store.conversation)
    store.begin_staging()
    for part in in_parts(store.records()):
        if stop and stop.is_set():
            return
        for place, played in groupby(part, lambda r: (r.conversation, r.system, r.policy)):
            records = list(played)
            play = _Play(conversation_of(records[0].recorded_conversation), checks[place], section, judged)
            decided = [play.decide(record) for record in records]
            for record, one in zip(records, decided, strict=True):
                if not isinstance(one, Unscored):
                    store.add_verdict(_verdict_row(record, one), anew=True)
            for column, verdict in ((RECORDED_WORSE, "worse"), (RECORDED_BETTER, "better")):
                values = [
                    one if isinstance(one, Unscored) else float(one.verdict == verdict) for one in decided
                ]
                scores = map(stored_score, records, values)
                store.add_scores(column, list(scores), anew=True)
        store.settle()
    fact = {"section": section.model_dump(mode="json"), "signature": _signature(section, judged)}
    columns = [RECORDED_WORSE, RECORDED_BETTER]
    store.publish_staged(
        columns, judge=KEPT_AS, facts={RECORDED: fact}, event=("compared-with-recorded", fact)
    )


def recorded_turns(store: RunStore) -> Iterator[RecordedTurn]:
    """
    Yield every turn that was compared, with both answers, in the order of the data.

    Raises:
        RunError: what is kept of one can't be read.
    """
    rows = store.verdicts(KEPT_AS)
    for place, verdicts in groupby(rows, lambda row: (row.conversation, row.system, row.policy)):
        records = {record.depth: record for record in store.records_of(*place)}
        for row in verdicts:
            record = records[row.depth]
            texts = {
                "asked": record.asked,
                "recorded": next(iter(record.gold_answers), ""),
                "now": record.answer,
            }
            turn = dict(zip(_TURN, row[1:5], strict=True))
            try:
                yield convert_to({**row.data, **turn, **texts}, RecordedTurn)
            except (ValueError, TypeError) as error:
                raise _unreadable(store) from error


def _kept_comparison(store: RunStore) -> KeptComparison | None:
    """
    Return what *store* keeps of the comparison; None without one.

    Raises:
        RunError: it can't be read.
    """
    fact = store.fact(RECORDED)
    try:
        kept = None if fact is None else convert_to(fact, KeptComparison)
        _ = kept and kept.settings
    except ValueError as error:
        raise _unreadable(store) from error
    return kept


def _unreadable(store: RunStore) -> RunError:
    return RunError(
        f'what "{store.path}" says of its recorded answers can\'t be read; it is damaged, or somebody has '
        "changed it"
    )


def _judge_verdicts(store: RunStore, section: RecordedSection) -> _JudgeVerdicts | None:
    """Return the verdicts of the pairwise judge that counts; None where none has judged."""
    names = [one.name for one in judged_of(store) if one.signature.startswith(SIGNATURE)]
    chosen = [name for name in names if section.judge in (None, name)]
    return _JudgeVerdicts(chosen[0], StoredVerdicts(store)) if len(chosen) == 1 else None


def _signature(section: RecordedSection, judged: _JudgeVerdicts | None) -> str:
    score = f"+{section.score}>={section.margin:g}" if section.score else ""
    return f"checks{'+judge:' + judged.column if judged else ''}+same-1>={section.same_from:g}{score}+refusal"


def _verdict_row(record: TurnRecord, one: _Decision) -> StoredVerdict:
    place = record.conversation, record.system, record.policy, record.depth
    return StoredVerdict(KEPT_AS, *place, asks=0, cached=0, cost_usd=None, data=one._asdict())


class _Play:
    """One play of a conversation beside the recorded one."""

    def __init__(
        self,
        conversation: Conversation,
        checks: Sequence[CheckResult],
        section: RecordedSection,
        judged: _JudgeVerdicts | None,
    ) -> None:
        self._metadata = conversation.metadata
        self._checks = checks
        self._section = section
        self._judged = judged
        self._then = _recorded_checks(conversation) if checks else {}

    def decide(self, record: TurnRecord) -> _Decision | Unscored:
        """Return the verdict on *record*, or why there is none."""
        if record.outcome == "skipped":
            return SKIPPED
        if not record.gold_answers:
            return NO_RECORDED
        if record.answer is None:
            return _Decision("worse", "failure", f"no answer now: {record.outcome}")
        doubt = self._doubt(record)
        notes = [doubt] if doubt else []
        by_checks, hold = self._by_checks(record.depth)
        if by_checks:
            return by_checks
        by_judge = self._by_judge(record)
        if isinstance(by_judge, _Decision):
            return by_judge
        notes += [by_judge] if by_judge else []
        recorded = record.gold_answers[0]
        compared = compare_answers(
            record.recorded, recorded, record.answer, same_from=self._section.same_from
        )
        if compared.same:
            return _Decision("same", "equivalence", "; ".join([compared.reason, *notes]))
        if not doubt and (by_scores := self._by_scores(record)):
            return by_scores
        refusal = None if doubt or hold else self._new_refusal(record.recorded, recorded, record.answer)
        if refusal:
            return _Decision("worse", "refusal", f'refuses now: "{refusal}"')
        hold_note = ["all checks hold for both answers"] if hold else []
        return _Decision("differs", "nothing", "; ".join([compared.reason, *hold_note, *notes]))

    def _doubt(self, record: TurnRecord) -> str | None:
        """Return why the recorded answer is no reference for *record*; None if it is one."""
        bad = self._metadata.get(BAD_ANSWERS)
        if isinstance(bad, list) and record.depth in bad:
            return "the recorded answer is known to be bad: its user objected"
        if complaint := self._metadata.get(BAD_CONVERSATION):
            return f"the recorded conversation went badly: {complaint}"
        if record.drift and record.drift.invalid and record.edit == "kept":
            return "the question means something else after the system's own answers"
        return None

    def _by_checks(self, depth: int) -> tuple[_Decision | None, bool]:
        """Return what the checks say, and whether there are some and all hold now."""
        pairs = [
            (self._then[_key(one)], one)
            for one in self._checks
            if one.depth == depth and one.passed is not None and _key(one) in self._then
        ]
        lost = [now for then, now in pairs if then and not now.passed]
        gained = [now for then, now in pairs if not then and now.passed]
        hold = bool(pairs) and all(now.passed for _, now in pairs)
        if not lost and not gained:
            return None, hold
        changed = (lost or gained)[0]
        how = (
            "holds now, fails for the recorded answer"
            if not lost
            else "fails now, holds for the recorded answer"
        )
        found = f": {changed.evidence}" if changed.evidence else ""
        also = f"; {len(gained)} other newly passing" if lost and gained else ""
        verdict: RecordedVerdict = "worse" if lost else "better"
        return _Decision(verdict, "checks", f"{changed.rule} {how}{found}{also}"), hold

    def _by_judge(self, record: TurnRecord) -> _Decision | str | None:
        """Return the judge's verdict, why it has none, or None without a judge."""
        if self._judged is None:
            return None
        name, verdicts = self._judged
        (value,) = verdicts.scores(name, [record])
        if isinstance(value, Unscored):
            return f"{name}: {value.reason}"
        if value == 0.5:
            return _Decision("same", "judge", f"{name} prefers neither answer")
        better = value > 0.5
        share = "" if value in (0, 1) else f", mean {value:.2g}"
        which = "this answer" if better else "the recorded answer"
        return _Decision(
            "better" if better else "worse", "judge", f"{name} prefers {which} in both orders{share}"
        )

    def _new_refusal(self, question: str, recorded: str, now: str) -> str | None:
        """Return the sentence of *now* that refuses where *recorded* doesn't; None if it also answers."""
        refusal = None if refusal_in(recorded) else refusal_in(now)
        answers = word_likeness(question, recorded, now) >= self._section.same_from
        return None if answers else refusal

    def _by_scores(self, record: TurnRecord) -> _Decision | None:
        """Return what the score against the other gold answers says, if it is clear enough."""
        name, others = self._section.score, record.gold_answers[1:]
        if name is None or not others:
            return None
        then, now = _scores(name, [record.gold_answers[0], record.answer or ""], others)
        if abs(now - then) < self._section.margin:
            return None
        evidence = f"{name} against the other gold answers {now:.2f} now, {then:.2f} recorded"
        return _Decision("better" if now > then else "worse", "scores", evidence)


def _scores(name: str, answers: Sequence[str], references: tuple[str, ...]) -> list[float]:
    from replay.scorers.fuzzy import fuzzy
    from replay.scorers.word_overlap import f1, rouge_l

    makers: Mapping[str, Callable[[], ReferenceScore]] = {"f1": f1, "rouge_l": rouge_l, "fuzzy": fuzzy}
    scorer = makers[name]()
    found = scorer.score([(answer, references) for answer in answers], DECLINING_PATTERNS)
    return [0.0 if isinstance(one, Unscored) else one for one in found]


def _recorded_checks(conversation: Conversation) -> Mapping[tuple[int, bool, int], bool]:
    """Return whether each check of *conversation* holds for its recorded answers, where that can be seen."""
    turns = enumerate(conversation.turns, 1)
    records = [_as_record(conversation, depth) for depth, turn in turns if turn.gold_answers]
    if not records:
        return {}
    found = play_checks(conversation, records, NoVerdicts(), under_load=False)
    return {_key(one): one.passed for one in found if one.passed is not None}


def _key(check: CheckResult) -> tuple[int, bool, int]:
    return check.depth, check.at_end, check.position


def _as_record(conversation: Conversation, depth: int) -> TurnRecord:
    """Return the recorded turn at *depth* as if a system had played it."""
    turn = conversation.turns[depth - 1]
    return TurnRecord(
        system="recorded",
        policy="recorded",
        conversation=conversation.id,
        depth=depth,
        turn=turn.id,
        recorded=turn.question,
        asked=turn.question,
        edit="kept",
        drift=None,
        outcome="answered",
        answer=turn.gold_answers[0],
        gold_answers=turn.gold_answers,
        steps=turn.steps,
        expect=turn.expect,
    )
