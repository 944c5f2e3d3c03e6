"""What a load run's sample says of drift: its share, system by system and policy by policy."""

from __future__ import annotations

from replay.results.late_drift import LATER
from replay.scenario.assertions.operational_metrics import OPERATIONAL_METRICS
from replay.scorers.scorer import Unscored
from replay.statistics.group import Group
from replay.statistics.load.drift_share import DriftShare, drift_shares
from replay.statistics.score_column import ScoreColumn
from replay.store.late_drift import count_turns, verdicts_under
from replay.store.reader import RunReader


def sampled_drift(store: RunReader, *, resamples: int, seed: int) -> tuple[DriftShare, ...]:
    """What share of a load run's questions drifted, by system and policy; none where none was looked at."""
    policies = store.fact(LATER) or []
    counts = count_turns(store, policies)
    if not any(seen for _, seen in counts.values()):
        return ()
    rows = list(verdicts_under(store, policies))
    observed = [
        Unscored(reason=(why or "").partition(": ")[0]) if valid is None else float(not valid)
        for *_, valid, why in rows
    ]
    return drift_shares(
        [conversation for conversation, *_ in rows],
        [Group(system, policy) for _, system, policy, *_ in rows],
        ScoreColumn(scorer=OPERATIONAL_METRICS["invalid"], observed=observed),
        turns={Group(*pair): turns for pair, (turns, _) in counts.items()},
        resamples=resamples,
        seed=seed,
    )
