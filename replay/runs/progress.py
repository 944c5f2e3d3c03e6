"""Live progress: one changing line on a terminal or in a notebook, plain lines now and then when piped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from replay.core.record import TurnRecord
from replay.core.terminal import guard_streams, on_one_line, visible
from replay.play.load.level import Level
from replay.play.play import Play
from replay.report.printing import put_lines
from replay.runs.processes.who_plays import Player, in_one_line
from replay.runs.showing import NotebookCell
from replay.runs.stress.counting import Count

PLAIN_EVERY_S = 5.0
LINE_EVERY_S = 0.1
CELL_EVERY_S = 0.25
"""Each change is a message from a notebook's kernel to its page."""
SPINNER_WIDTH = 2


class Progress:
    """Counts what the engine tells it."""

    def __init__(self, console: Console, cell: NotebookCell | None = None) -> None:
        self._console = console
        self._cell = cell
        self._status = Status("starting", console=console) if console.is_terminal and not cell else None
        self._begun = monotonic()
        self._said = monotonic()
        self._turns = 0
        self._expected = 0
        self._invalid = 0
        self._failed = 0
        self._plays = 0
        self._last_error = ""
        self._judging = ""
        self._players = ""
        self._level = ""
        self._level_began = monotonic()
        self._level_turns = 0

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
            guard_streams()  # it took their place, and would obey what others print meanwhile
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()
        if self._cell:
            self._cell.show(self._line(), self._share)
        elif self._turns or self._judging:
            put_lines(self._console, [self._line()])

    def expects(self, turns: int) -> None:
        """That *turns* are to be asked, if no conversation ends early; 0 where that isn't known."""
        self._expected = turns

    @property
    def _share(self) -> float | None:
        return min(1.0, self._turns / self._expected) if self._expected else None

    def recorded(self, record: TurnRecord) -> None:
        self._turns += 1
        self._invalid += record.drift is not None and record.drift.invalid
        if record.failed:
            self._failed += 1
            self._last_error = record.error or record.outcome
        self._tell()

    def played(self, play: Play) -> None:
        self._plays += 1
        self._tell()

    def players(self, players: Sequence[Player]) -> None:
        """Who plays, where it isn't this process."""
        self._players = in_one_line(players)
        self._tell()

    def level_began(self, level: Level) -> None:
        self._level = f"level {level.index + 1}, {level.name}"
        self._level_began = monotonic()
        self._level_turns = self._turns
        self._tell()

    def counted(self, count: Count) -> None:
        self._turns += count.turns
        self._invalid += count.invalid
        if count.failed:
            self._failed += count.failed
            self._last_error = count.last_error
        self._tell()

    def level_over(self, level: Level, result: Mapping[str, Any]) -> None:
        missed = [f"{g['goal']} missed ({_shown(g['value'])})" for g in result["goals"] if not g["met"]]
        met = (
            "" if result["met"] is None else ", objectives met" if result["met"] else f", {'; '.join(missed)}"
        )
        turns = self._turns - self._level_turns
        rate = turns / max(monotonic() - self._level_began, 1e-9)
        self._level = ""
        put_lines(self._console, [f"{level.name}: {turns} turns ({rate:.0f}/s){met}"])

    def noticed(self, sentence: str) -> None:
        """What is to be known before anything is asked."""
        self._console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def judged(self, judge: str, done: int, cases: int) -> None:
        self._judging = f"judge {judge}: {done} of {cases}"
        self._tell()

    def _tell(self) -> None:
        now = monotonic()
        if self._status or self._cell:
            if now - self._said >= (LINE_EVERY_S if self._status else CELL_EVERY_S):
                self._said = now
                if self._status:
                    self._status.update(self._shown_line())
                if self._cell:
                    self._cell.show(self._line(), self._share)
        elif now - self._said >= PLAIN_EVERY_S:
            self._said = now
            put_lines(self._console, [self._line()])

    def _shown_line(self) -> Text:
        """As much as one line of the terminal takes, or it would jump."""
        line = Text(visible(self._line()))
        line.truncate(self._console.width - SPINNER_WIDTH, overflow="ellipsis")
        return line

    def _line(self) -> str:
        begun, turns = (self._level_began, self._level_turns) if self._level else (self._begun, 0)
        rate = (self._turns - turns) / max(monotonic() - begun, 1e-9)
        parts = []
        count = f"{self._turns} of {self._expected}" if self._turns < self._expected else f"{self._turns}"
        if self._level:
            parts = [self._level, f"{self._turns - turns} turns ({rate:.0f}/s)"]
        elif self._plays == 0 and self._turns:
            parts = [f"{count} turns"]
        elif self._turns or not self._judging:
            parts = [f"{_some(self._plays, 'conversation')} played", f"{count} turns ({rate:.0f}/s)"]
        if self._players and not self._judging:
            parts.append(self._players)
        if self._invalid:
            parts.append(_some(self._invalid, "invalid question"))
        if self._failed:
            parts.append(f"{self._failed} failed, last: {on_one_line(self._last_error)}")
        return ", ".join([*parts, self._judging] if self._judging else parts)


def _some(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _shown(value: float | None) -> str:
    return "nothing measured" if value is None else f"{value:.3g}"
