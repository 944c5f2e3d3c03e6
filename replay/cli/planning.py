"""What ``replay run --dry-run`` says: how much would be asked, and of whom."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec

from replay.cli.output import echo, echo_json
from replay.core.safety.code_gate import code_may_run

if TYPE_CHECKING:
    from replay.scenario.reading import ScenarioFile


@code_may_run()
def show_plan(file: ScenarioFile, *, as_json: bool) -> None:
    """
    Print how many questions the scenario in *file* would put, and what its resolver would take.

    Raises:
        InputError: it is a load run, or something in it or its data can't be used.
    """
    from replay.core.errors import InputError
    from replay.report.numbers import count_text
    from replay.results.estimates import estimate_resolver, estimate_users, planned_turns
    from replay.scenario.assembly import assemble

    assembly = assemble(file)
    if assembly.load:
        raise InputError("what a load run asks depends on how fast it is answered; --dry-run can't tell")
    (turns, plays), policies = planned_turns(assembly), len(assembly.policies)
    resolver = estimate_resolver(assembly)
    users = estimate_users(assembly, turns, plays)
    if as_json:
        echo_json(
            {
                "turns": turns,
                "asks_of_each_system": turns * policies,
                "resolver": msgspec.to_builtins(resolver),
                **({"users": [asdict(one) for one in users]} if users else {}),
            }
        )
        return
    counted = f"{count_text(turns, 'turn')}, policies: {policies}"
    echo(f"each system: {count_text(turns * policies, 'question')} at most ({counted})")
    if resolver is not None:
        from replay.cli.judging import print_estimates

        print_estimates("who", [resolver])
    for one in users:
        echo(one.sentence)
    if assembly.judges:
        echo("Judges are asked after the run; `replay score RUN --dry-run` says what they would take.")
