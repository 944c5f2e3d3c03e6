"""
What a scenario's data expects, added up as the data is read, and what of it nothing could look at: known
before anything is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replay.core.conversation import Conversation
from replay.core.errors import Fault, PluginError, ScenarioError
from replay.core.expectation import Expectation
from replay.core.settings.faults import nearest
from replay.scenario.assembly import Assembly
from replay.scenario.reading import add_lines
from replay.scorers.checks.kinds import check_of, columns_of, is_column
from replay.scorers.checks.known import JudgedValue, Rubric
from replay.scorers.scorer import CheckedScorer


class ExpectedChecks:
    """The checks of an assembly's data."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._columns = [column for panel in assembly.judges for column in panel.columns]
        self._of_rubrics = _rubric_judges(assembly) if assembly.judges else []
        self._judges_known = not any(at.startswith("judges") for at, _ in assembly.unread)
        self._kinds: Counter[str] = Counter()
        self._of_ends = 0
        self._found: dict[str, None] = {}
        self._faults: dict[tuple[str, str], tuple[str, int]] = {}
        """Where each was met first, and how often, by key path and message."""

    def add(self, conversation: Conversation) -> None:
        """Count the checks of *conversation*."""
        for depth in conversation.asked_depths:
            for one in conversation.turns[depth - 1].expect:
                self._add(one, f'turn {depth} of "{conversation.id}"', at_end=False)
        for one in conversation.expect:
            self._add(one, f'the end of "{conversation.id}"', at_end=True)

    def _add(self, one: Expectation, place: str, *, at_end: bool) -> None:
        self._kinds[one.kind] += 1
        self._of_ends += at_end
        self._found.update(dict.fromkeys(columns_of(one, at_end=at_end)))
        for fault in self._problem(one):
            first, count = self._faults.get(fault, (place, 0))
            self._faults[fault] = first, count + 1

    def _problem(self, one: Expectation) -> Iterator[tuple[str, str]]:
        """Yield key path and message of what keeps *one* from being looked at."""
        check = check_of(one)
        if isinstance(check, CheckedScorer):
            try:
                check.check_installed()
            except PluginError as error:
                yield "data", str(error)
        if isinstance(check, Rubric) and self._judges_known:
            names = self._of_rubrics
            if not names:
                yield "judges", "the data has rubrics, and no judge of the type rubric is here to judge them"
            elif check.judge is None and len(names) > 1:
                listed = ", ".join(names)
                yield "judges", f"a rubric has to say by which judge, since there are several ({listed})"
            elif check.judge is not None and check.judge not in names:
                yield (
                    "judges",
                    f'no judge of the type rubric is called "{check.judge}"{nearest(check.judge, names)}',
                )
        if isinstance(check, JudgedValue) and self._judges_known and check.full_name not in self._columns:
            name = check.full_name
            known = ", ".join(self._columns) or "there is none"
            yield "judges", f'no judge gives "{name}"{nearest(name, self._columns)} (known: {known})'

    def remarks(self) -> Iterator[str]:
        """Yield a sentence with the number of checks by kind; nothing if there are none."""
        total = self._kinds.total()
        if total:
            listed = ", ".join(f"{kind} {count}" for kind, count in self._kinds.most_common())
            ends = f"; {self._of_ends} of them about conversations' ends" if self._of_ends else ""
            yield f"{total} check{'s' * (total != 1)}: {listed}{ends}"

    def validate(self) -> None:
        """
        Make sure that every check can be looked at, and that assertions name columns that there are.

        Raises:
            ScenarioError: with all that is wrong, and where each was met first.
        """
        file = self._assembly.file
        faults = []
        for (path, message), (first, count) in self._faults.items():
            more = f" and {count - 1} more" if count > 1 else ""
            faults.append(Fault(path=path, message=f"{message}; met at {first}{more}"))
        for index, one in enumerate(file.scenario.assertions):
            if is_column(one.score) and one.score not in self._found:
                known = ", ".join(self._found) or "it expects nothing"
                hint = nearest(one.score, self._found)
                message = f'the data has no checks for "{one.score}"{hint} (known: {known})'
                faults.append(Fault(path=f"assert[{index}].metric", message=message))
        if faults:
            raise ScenarioError(file.source, add_lines(faults, file.lines))


def _rubric_judges(assembly: Assembly) -> list[str]:
    from replay.scorers.judges.yes_no import RubricJudge

    return [panel.name for panel in assembly.judges if isinstance(panel.judge, RubricJudge)]
