"""The judges that are to judge a run: its scenario's own, by name, or new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from replay.core.errors import Fault, ScenarioError
from replay.core.safety.code_gate import code_may_run
from replay.core.safety.provenance import check_consent
from replay.core.settings.choice import Choice
from replay.core.settings.faults import nearest
from replay.core.settings.prices import NO_PRICES, read_price_table
from replay.results.consent import actions_of_untrusted_run
from replay.results.run import Run
from replay.scenario.judge_section import build_panel
from replay.scenario.part_builder import PartBuilder
from replay.scenario.reading import read_choices
from replay.scorers.judges.panel import Panel


def run_panels(
    run: Run,
    names: Sequence[str],
    *,
    repeats: int | None = None,
    cache: bool = True,
    allow_code: bool = False,
) -> list[Panel]:
    """
    The panels that *names* stand for: names of the run's own judges, ``all`` of them, or new ones written
    as in a scenario. *repeats* and *cache* are in the place of their own settings. Those of a run that this
    user did not begin on this machine ask nobody unless *allow_code* says that they may.

    Raises:
        ScenarioError: there is no such judge, or one has faults.
        RunError: *allow_code* is missing.
    """
    file, choices = run.scenario(), chosen_judges(run, names)
    check_consent(actions_of_untrusted_run(run.folder, judges=choices), allow_code=allow_code)
    table = file.scenario.prices
    prices = read_price_table(file.folder / table) if table else NO_PRICES
    return built_panels(PartBuilder(file.folder, prices), choices, repeats=repeats, cache=cache)


def chosen_judges(run: Run, names: Sequence[str]) -> list[Choice]:
    """
    What ``run_panels`` builds of *names*.

    Raises:
        ScenarioError: there is no such judge.
    """
    file = run.scenario()
    own = {
        choice.called or str(choice.settings.get("name", choice.name)): choice
        for choice in file.scenario.judges
    }
    choices: list[Choice] = []
    for name in names:
        if name == "all":
            choices += own.values()
        elif name in own:
            choices.append(own[name])
        else:
            choices += _as_written(name, own, read_choices([name], "--judge"))
    return choices


@code_may_run()
def built_panels(
    builder: PartBuilder, choices: Sequence[Choice], *, repeats: int | None = None, cache: bool = True
) -> list[Panel]:
    """
    The panels of *choices*, with *repeats* and *cache* in the place of their own settings.

    Raises:
        ScenarioError: one has faults.
    """
    panels = []
    for choice in choices:
        if panel := build_panel(builder, choice, "--judge"):
            panel = replace(panel, repeats=repeats or panel.repeats)
            panels.append(panel if cache else replace(panel, cache=None))
    if builder.faults:
        raise ScenarioError("--judge", builder.faults)
    return panels


def _as_written(name: str, own: Mapping[str, Choice], choices: list[Choice]) -> list[Choice]:
    if any(choice.settings for choice in choices):
        return choices
    known = ", ".join(own) or "it has none"
    message = (
        f'"{name}" is not a judge of the run\'s scenario{nearest(name, own)} (its judges: {known}); '
        "a new one is written with its settings, as in '{correctness: {adapter: openai, settings: {...}}}'"
    )
    raise ScenarioError("--judge", [Fault(path=name, message=message)])
