"""
A run's turns in the two files that the published program writes (Li et al., ACL 2022; program
princeton-nlp/EvalConvQA), for scripts that read those.

- ``predictions_{system}_{policy}_{entities}_{start}_{end}.json``: one JSON object per dialog and line,
  in the data's order, with the lists ``best_span_str`` (answers), ``qid`` (turn ids), ``yesno`` and
  ``followup`` (both ``"y"`` throughout, as there). A turn without an answer, filtered out or failed, is
  in no list.
- ``modified_questions_{...}.json``: an object from the dialog's position in the data, from 0, to an
  object with the lists ``Rewritten`` and ``Replaced`` (pairs of turn id and question asked), ``Not
  Found`` and ``Filtered`` (turn ids).

The names' parts are the program's: the model's name is the system's here, the option the policy's
label; *entities* is ``skipent`` where drift was detected by the published rule without capitalised
mentions (``skip_entity``), else ``keptent``; *start* and *end* are the range of dialogs. Each repeat of a
run (``play.repeats``) but the first has a pair of files of its own, with ``repeat2`` after the option.
Where we know more than the program: ``Rewritten`` holds what ``augment`` asked too, and ``Not Found`` the
turns whose rewriting failed, which were asked as recorded as well. As there, an invalid question is listed
as rewritten or replaced even when its new wording is the old one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from replay.core.record import TurnRecord
from replay.statistics.group import Group, group_of, groups_in_order

Category = Literal["Rewritten", "Replaced", "Not Found", "Filtered"]
CATEGORIES: tuple[Category, ...] = ("Rewritten", "Replaced", "Not Found", "Filtered")
_BY_EDIT: dict[str, Category] = {
    "rewritten": "Rewritten",
    "augmented": "Rewritten",
    "replaced": "Replaced",
    "not-found": "Not Found",
    "rewrite-failed": "Not Found",
    "filtered": "Filtered",
}
_BY_POLICY: dict[str, Category] = {"rewrite": "Rewritten", "replace": "Replaced"}


def write_evalconvqa(
    records: Iterable[TurnRecord], conversations: Sequence[str], folder: Path, *, skip_entity: bool = True
) -> list[Path]:
    """
    Write both files for each system, policy and repeat into *folder*, which is made if need be.

    *conversations* are the data's ids in order, *skip_entity* is the run's setting. A conversation without
    a record is in neither file.
    Returns the files, in order.

    Raises:
        OSError: a file can't be written.
    """
    dialogs: dict[tuple[Group, int], dict[str, list[TurnRecord]]] = {}
    for record in records:
        played = dialogs.setdefault((group_of(record), record.repeat), {})
        id = record.conversation if record.repeat == 1 else record.recorded_conversation
        played.setdefault(id, []).append(record)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    stems: Counter[str] = Counter()
    order = groups_in_order(group for group, _ in dialogs)
    for group, repeat in sorted(dialogs, key=lambda one: (order.index(one[0]), one[1])):
        played = dialogs[group, repeat]
        indexed = [
            (index, sorted(played[conversation], key=lambda r: r.depth))
            for index, conversation in enumerate(conversations)
            if conversation in played
        ]
        skips = skip_entity and any(
            r.drift is not None and r.drift.mode == "evalconvqa" for _, turns in indexed for r in turns
        )
        stem = _stem(group, repeat, "skipent" if skips else "keptent", len(conversations))
        stems[stem] += 1
        if stems[stem] > 1:  # two names that look the same once they are fit for a file
            stem = f"{stem}_{stems[stem]}"
        lines = "".join(json.dumps(_predictions(turns)) + "\n" for _, turns in indexed)
        modified = {str(index): modified_questions(turns) for index, turns in indexed}
        for kind, text in (("predictions", lines), ("modified_questions", json.dumps(modified, indent=2))):
            path = folder / f"{kind}_{stem}.json"
            path.write_text(text, "utf-8")
            written.append(path)
    return written


def modified_questions(turns: Sequence[TurnRecord]) -> dict[Category, list[Any]]:
    """
    Return the modified turns of one dialog by the program's categories.

    Returns:
        For each category turn ids; with the question as asked where it was rewritten or replaced.
    """
    found: dict[Category, list[Any]] = {category: [] for category in CATEGORIES}
    for record in turns:
        category = _category(record)
        if category is not None:
            named = category in ("Rewritten", "Replaced")
            found[category].append([record.turn, record.asked] if named else record.turn)
    return found


def _category(record: TurnRecord) -> Category | None:
    if record.edit != "kept":
        return _BY_EDIT[record.edit]
    invalid = record.drift is not None and record.drift.invalid
    return _BY_POLICY.get(record.policy.partition("(")[0]) if invalid else None


def _predictions(turns: Sequence[TurnRecord]) -> dict[str, list[str]]:
    answered = [record for record in turns if record.answer is not None]
    return {
        "best_span_str": [record.answer or "" for record in answered],
        "qid": [record.turn for record in answered],
        "yesno": ["y"] * len(answered),
        "followup": ["y"] * len(answered),
    }


def _stem(group: Group, repeat: int, entities: str, end: int) -> str:
    names = [re.sub(r"[^\w.()=,+-]+", "-", name) for name in (group.system, group.policy)]
    again = [] if repeat == 1 else [f"repeat{repeat}"]
    return "_".join([*names, *again, entities, "0", str(end)])
