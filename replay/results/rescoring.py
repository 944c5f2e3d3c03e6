"""A finished run scored once more."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from replay.core.safety.consent import check_consent, code_may_run
from replay.core.settings.choice import Choice
from replay.results.checking import check_into
from replay.results.consent import actions_of_untrusted_run
from replay.results.recorded import compare_recorded_into
from replay.results.run import Run
from replay.results.scoring import score_into
from replay.results.telemetry import send_scores
from replay.scenario.optional_sections import RecordedSection
from replay.scenario.reading import with_cluster
from replay.store.store import RunStore


def score(
    folder: str | Path,
    choices: Sequence[Choice] | None = None,
    *,
    allow_code: bool = False,
    on: str | None = None,
    recorded: RecordedSection | None = None,
) -> Run:
    """
    Score a run's records anew, without asking any system anything.

    With the scorers of its scenario, or with *choices* in their place. In a run that this user did not
    begin on this machine they run no code unless *allow_code* says that they may. Scorers that have a model
    observe on the nodes of the scenario's ``cluster``; *on* as for ``run_async``. *recorded*
    says how answers are held against the recorded ones; left out, as the scenario or an earlier time says.

    Raises:
        InputError: the cluster can't be reached.
        RunError: there is no such run, another process is writing it, or *allow_code* is missing.
        PluginError, ScenarioError: a scorer can't be built.
        RunStoppedError: the cluster has no room, or was lost.
    """
    run = Run(folder)
    scenario = with_cluster(run.scenario(), on).scenario
    if choices is None:
        choices = scenario.scorers
    check_consent(actions_of_untrusted_run(run.folder, scorers=choices), allow_code=allow_code)
    with closing(RunStore(run.folder, write=True)) as store, code_may_run():
        score_into(store, choices, cluster=scenario.cluster)
        check_into(store)
        compare_recorded_into(store, recorded or scenario.recorded)
    send_scores(run.folder, run.scenario())
    return run
