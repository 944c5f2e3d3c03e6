"""
What failed, in words: turns without an answer, checks of the data, assertions, what a build fails on, and why
a question is invalid.

All our own characters are ASCII but for those on drift, so that a pipe with a modest encoding can take them.

A drift verdict says what each mention could mean in either history. Best antecedents alone often don't show
it. A mention whose two best ones are the same can have lost much else that it could mean, and that is what
the learned verdict weighs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from replay.core.drift_evidence import Drift, MentionDrift, Reading
from replay.core.expectation import ALL_CHECKS, CheckResult
from replay.core.terminal import on_one_line
from replay.report.document import Cases, CaseText, Item
from replay.report.numbers import count_text
from replay.report.printing import Value, p_text, score_cells, shorten
from replay.scenario.assertions.findings import AssertionResult, Finding
from replay.scorers.scorer import SHARE
from replay.statistics.checks import ChangedCheck, ChangedChecks, CheckRow, reasons_text
from replay.statistics.comparison_gate import CHECKS, ComparisonGate, Regression
from replay.statistics.group import Group
from replay.statistics.run_numbers import FailureReason

MOST_TURNS = 10
"""Turns with failed or changed checks that are shown to people; JSON and the export have all."""
MOST_REASONS = 20
"""Reasons for failures that are shown to people; JSON has all."""
MOST_AGAINST = 5
"""Failed checks, and plays, that are named with an assertion; the report has more, and JSON all."""
LONGEST = 300
"""Characters of what is asserted or checked."""


def assertion_lines(results: Sequence[AssertionResult]) -> list[str]:
    """Return a heading, then a line for each assertion and one for each system and policy it speaks of."""
    return [assertion_count(results), *(line for one in results for line in lines_of(one))]


def assertion_count(results: Sequence[AssertionResult]) -> str:
    """Return how many failed, or that all were kept."""
    failed = sum(not one.holds for one in results)
    of = len(results)
    return f"Assertions: {failed} of {of} failed" if failed else f"Assertions: {of} of {of} kept"


def lines_of(one: AssertionResult) -> Iterator[str]:
    """Yield the assertion, then what was found."""
    yield f"{'ok  ' if one.holds else 'FAIL'}  {one.assertion.title}"
    for finding in one.findings:
        mark = "" if finding.holds else "FAIL "
        yield f"      {mark}{finding.group}: {finding.summary}"
        yield from (f"        {line}" for line in lines_against(finding))


def lines_against(finding: Finding) -> Iterator[str]:
    """Yield the first cases and checks that fail *finding*, a line each, and how many more there are."""
    for named in (finding.cases_against, finding.failed_checks):
        yield from (shorten(one, LONGEST) for one in named[:MOST_AGAINST])
        if (rest := len(named) - MOST_AGAINST) > 0:
            yield f"and {rest:,} more"


def assertion_item(one: AssertionResult) -> Item:
    """Return the assertion with what was found, as an entry of a list."""
    found = [
        Item(f"{finding.group}: {finding.summary}", [Item(line) for line in lines_against(finding)])
        for finding in one.findings
    ]
    return Item(one.assertion.title, found, mark="ok" if one.holds else "FAILED")


def failure_lines(failures: Sequence[FailureReason]) -> list[str]:
    """Return a line for each of *failures*, most turns first; of very many, how many more there are."""
    lines = [_line(failure) for failure in failures[:MOST_REASONS]]
    if rest := failures[MOST_REASONS:]:
        turns = sum(failure.turns for failure in rest)
        of = f"{count_text(len(rest), 'more reason')}, of {count_text(turns, 'turn')}"
        lines.append(f"{of}: `replay report --json` has them all")
    return lines


def _line(failure: FailureReason) -> str:
    return (
        f"{count_text(failure.turns, 'turn')}, {failure.outcome}: {reason_text(failure)} "
        f"({'first' if failure.turns > 1 else 'at'}: {turn_text(failure)})"
    )


def reason_text(failure: FailureReason) -> str:
    """Return the reason in full, and whether others of almost the same words are counted with it."""
    reason = on_one_line(failure.reason or "the adapter gave no reason")
    if failure.wordings == 1:
        return reason
    return f"{reason} [and {failure.wordings - 1:,} more that differ in ids, times or long numbers only]"


def turn_text(failure: FailureReason) -> str:
    """Return the turn to look at, as in ``talk3, depth 2, bot, pred``."""
    return f"{on_one_line(failure.conversation)}, depth {failure.depth}, {failure.system}, {failure.policy}"


def unchecked_lines(rows: Sequence[CheckRow]) -> Iterator[str]:
    """Yield the reasons for which checks in *rows* could not be made, most frequent first."""
    for row in rows:
        if row.name == ALL_CHECKS and row.counts.unchecked:
            yield f"not looked at: {reasons_text(row.counts.unchecked)}"


def check_title(check: CheckResult, *, names_group: bool) -> str:
    """Return the check's title on one line, such as ``bot, pred: depth 2 of talk3: contains "refund"``."""
    return f"{check.system}, {check.policy}: {check.title}" if names_group else check.title


def turn_texts(check: CheckResult) -> dict[str, str | None]:
    """Return the texts of *check* by name: ``asked`` (question), ``answer`` and ``found`` (evidence)."""
    return {"asked": check.asked, "answer": check.answer, "found": check.evidence}


def failed_turns(failed: Sequence[CheckResult], *, names_groups: bool) -> Cases:
    """
    Return the turns, or ends of conversations, of the *failed* checks in their order.

    What several systems and policies have in common stands once: ``depth 2 of talk3 (bot, gold; bot, pred)``,
    with what was asked and answered, and each check with what was found. *names_groups* says whose it was.
    """
    turns: dict[tuple[str, int, bool, Group], list[CheckResult]] = {}
    for one in failed:
        key = one.conversation, one.depth, one.at_end, Group(one.system, one.policy)
        turns.setdefault(key, []).append(one)
    alike: dict[tuple[object, ...], tuple[list[Group], list[CheckResult]]] = {}
    for (*turn, group), checks in turns.items():
        rules = tuple((one.rule, one.evidence) for one in checks)
        same = *turn, checks[0].asked, checks[0].answer, rules
        alike.setdefault(same, ([], checks))[0].append(group)
    cases = []
    for groups, checks in islice(alike.values(), MOST_TURNS):
        first = checks[0]
        who = f" ({'; '.join(map(str, groups))})" if names_groups else ""
        found = (("failed", f"{one.rule}: {one.evidence}" if one.evidence else one.rule) for one in checks)
        texts = [("asked", first.asked), ("answer", first.answer), *found]
        cases.append(CaseText(f"{first.where} of {first.conversation}{who}", texts))
    rest = len(alike) - MOST_TURNS
    return Cases(
        cases, f"and {count_text(rest, 'more turn')}: replay export RUN --table checks" if rest > 0 else ""
    )


def changed_check_cases(changed: ChangedChecks) -> Iterator[Cases]:
    """Yield what changed, kind by kind: what was asked, answered on either side, found on the second."""
    for name, found in changed.changes.items():
        cases = [
            CaseText(f"{name} ({one.before.verdict} before): {one.after.title}", _change_texts(one))
            for one in found
        ]
        rest = len(found) - MOST_TURNS
        more = f"and {rest:,} more {name}; `replay compare --json` has all" if rest > 0 else ""
        yield Cases(cases[:MOST_TURNS], more)


def _change_texts(one: ChangedCheck) -> list[tuple[str, str | None]]:
    answers = [
        ("asked", one.after.asked or one.before.asked),
        ("A", one.before.answer),
        ("B", one.after.answer),
    ]
    return [*answers, ("found", one.after.evidence or one.after.reason)]


def gate_lines(found: ComparisonGate) -> list[str]:
    """Return a heading, a line for each loss, and which scores could not have been significant."""
    lines = [_heading(found), *(line for loss in found.losses for line in _failed_check_lines(loss))]
    for one in found.powerless:
        enough = "draw more --permutations" if one.needed is None else f"{one.needed} would be enough"
        lines.append(
            f"UNDECIDED  {one.score}, {one.group}: too few conversations ({one.conversations}) for any "
            f"difference to be significant: p Holm can't be below {p_text(one.least_p)}; {enough}"
        )
    if not found.is_decided:
        lines.append(
            "so this gate could not have failed. Compare more conversations, name fewer scores, policies or "
            f"systems, gate on --fail-on {CHECKS}, or assert bounds in the scenario"
        )
    return lines


def _heading(found: ComparisonGate) -> str:
    of = f"{count_text(found.looked_at, 'comparison')} of {', '.join(found.scores)}"
    level = f"significantly worse (p Holm at most {found.alpha:g})"
    if found.scores == (CHECKS,):
        level = "newly failing, or no longer looked at"
    elif CHECKS in found.scores:
        level += ", or a check that newly fails or is no longer looked at"
    if not found.is_decided:
        return f"Gate: UNDECIDED: none of {of} is {level}, and not all could have been"
    if found.losses:
        lost = sum(len(loss.checks) or 1 for loss in found.losses)
        return f"Gate: {lost:,} of {of} {level}"
    return f"Gate: none of {of} is {level}"


def _failed_check_lines(loss: Regression) -> list[str]:
    if not loss.checks:
        return [_loss(loss)]
    shown = [
        f"FAIL  check, {loss.group}: {one.after.title}: {_change(one)}" for one in loss.checks[:MOST_TURNS]
    ]
    more = len(loss.checks) - MOST_TURNS
    return [
        *shown,
        *(
            [f"FAIL  and {count_text(more, 'more check')} of {loss.group}; --json has all"]
            if more > 0
            else []
        ),
    ]


def _change(one: ChangedCheck) -> str:
    now = "fails now" if one.after.passed is False else "is no longer looked at"
    return f"{now}, {one.before.verdict} before"


def _loss(loss: Regression) -> str:
    who = f"{loss.score}, {loss.group}" if loss.score else str(loss.group)
    row = loss.row
    if row is None:
        return f"FAIL  {who}: not compared: {loss.reason}"
    percent = loss.unit == SHARE
    first, second = (
        score_cells([Value(value)], percent=percent, whole=False)[0].strip()
        for value in (row.first, row.second)
    )
    change = score_cells([row.difference], percent=percent, whole=False, signed=True)[0].strip()
    unit = " %" if percent else f" {loss.unit}" if loss.unit else ""
    depth = "" if row.difference.depth is None else f", depth {row.difference.depth}"
    turns = count_text(row.difference.turns, "turn")
    conversations = count_text(row.difference.conversations, "conversation")
    return (
        f"FAIL  {who}{depth}: {first} -> {second}{unit}, {change}, p Holm {p_text(row.adjusted_p)}, on "
        f"{turns} of {conversations}"
    )


LEAST_PROBABILITY = 0.05
"""Probability from which on something that a mention could mean is shown."""
MOST_READINGS = 2
LONGEST_ANTECEDENT = 80
"""Characters of an antecedent; a whole sentence can be one."""


class Candidate(NamedTuple):
    """Something that a mention could mean in one history, and hardly in the other."""

    text: str
    probability: float


class MentionView(NamedTuple):
    """One mention, and what set its two readings apart."""

    drift: MentionDrift
    lost: Sequence[Candidate]
    """Only the gold history offers it, most probable first."""
    came: Sequence[Candidate]
    """Only the own history offers it."""


def mention_views(drift: Drift) -> list[MentionView]:
    """
    Return each mention in the order of the record; what was lost and came only where readings may differ.
    """
    return [
        MentionView(one, _beside(one.gold, one.predicted), _beside(one.predicted, one.gold))
        if one.probability > 0 and one.state != "unread"
        else MentionView(one, (), ())
        for one in drift.mentions
    ]


def _beside(one: Reading, other: Reading) -> list[Candidate]:
    """Return meanings that are likely in *one*, not its best, and less than half as probable in *other*."""
    elsewhere = {text.casefold(): probability for probability, text in other.distribution}
    found = [
        Candidate(short(text), probability)
        for probability, text in one.distribution
        if probability >= LEAST_PROBABILITY
        and text != one.antecedent
        and elsewhere.get(text.casefold(), 0.0) < probability / 2
    ]
    return found[:MOST_READINGS]


def why_invalid(drift: Drift) -> str:
    """Return why the question is invalid, in one sentence; empty if it is valid."""
    if not drift.invalid:
        return ""
    # What is read otherwise explains more than what only may be.
    changed = sorted(
        (one for one in mention_views(drift) if one.drift.probability > 0 or _is_apart(one.drift)),
        key=lambda one: (one.drift.probability, _is_apart(one.drift)),
        reverse=True,
    )
    said = []
    if 0 < drift.probability < 1:
        said.append(f"{100 * drift.probability:.0f} % likely to mean something else")
    if changed:
        said.append(_what_became_of(changed[0]))
    elif drift.mode == "evalconvqa":
        said.append("the two histories don’t link the same mentions")
    if more := sum(one.drift.probability >= LEAST_PROBABILITY for one in changed[1:]):
        said.append(f"{more} more mention{' adds' if more == 1 else 's add'} to it")
    if drift.semantic and drift.semantic.answers is not None:
        said.append(f"the answers before it have a likeness of {drift.semantic.answers:.2f}")
    return "; ".join(said)


def _is_apart(one: MentionDrift) -> bool:
    return one.state in ("drifted", "lost")


def _what_became_of(one: MentionView) -> str:
    gold, own = one.drift.gold.antecedent, one.drift.predicted.antecedent
    mention = one.drift.gold.mention
    name = "what is left out" if mention.kind == "ellipsis" else f"“{mention.text}”"
    if one.drift.state == "lost":
        return f"{name} is “{short(gold or '')}” in the gold history, and means nothing in its own"
    if gold and own and gold != own:
        return f"{name} is “{short(own)}” in its own history, “{short(gold)}” in the gold one"
    if one.lost:
        text, p = one.lost[0]
        return f"{name} could be “{text}” ({100 * p:.0f} %) in the gold history, and hardly in its own"
    if one.came:
        text, p = one.came[0]
        return f"{name} could be “{text}” ({100 * p:.0f} %) in its own history, and hardly in the gold one"
    return f"{name} is read otherwise"


def short(text: str) -> str:
    """Return *text*, cut to ``LONGEST_ANTECEDENT`` characters."""
    return text if len(text) <= LONGEST_ANTECEDENT else text[: LONGEST_ANTECEDENT - 2] + " …"
