"""
From logs to a suite: read, thin out, choose, replace what is personal, write.

Somebody's own rules on personal data are a YAML file: ``replace`` lists patterns with the kind that they are,
``keep`` words that are no names in these logs::

    replace:
      - {kind: number, pattern: "ACME-[0-9]{5}"}
    keep: [Acme, Zogtek]
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from replay.collecting.deidentify import ReplacedValue, deidentify
from replay.collecting.patterns import KINDS, Kind
from replay.collecting.personal_data import PersonalDataRules
from replay.collecting.report import CollectedSuite, CollectSettings, write_report
from replay.collecting.sampling import (
    CandidateConversation,
    TakenConversation,
    bad_answers,
    bad_verdict,
    complaint,
    leaning_depths,
    read_leaning,
    split_duplicates,
    take,
)
from replay.collecting.suite import CONVERSATIONS, KEY_TURNS, SCENARIO, replaced_path, write_replaced
from replay.core.conversation import Conversation
from replay.core.errors import DatasetError, InputError, writing
from replay.core.extras import check_extra
from replay.core.settings.faults import nearest
from replay.core.settings.yaml_lines import parse
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.language import ENGLISH_ONLY, language_of
from replay.datasets.loading import read_conversations
from replay.datasets.native import native_line, write_native
from replay.datasets.reader import Reader
from replay.report.numbers import count_text
from replay.scenario.sections import BAD_ANSWERS, BAD_CONVERSATION
from replay.scenario.shipped import starter_scenario


def read_rules(path: Path) -> PersonalDataRules:
    """
    Return the rules in *path*.

    Raises:
        InputError: the file can't be read, or isn't as above.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'"{path}" can\'t be read: {error}') from error
    value, _, faults = parse(text)
    if faults:
        raise InputError(f"{path}: {faults[0].message}")
    if not isinstance(value, dict) or value.keys() - {"replace", "keep"}:
        raise InputError(f"{path}: a mapping with replace and keep is expected, each a list")
    keep = value.get("keep") or []
    if not isinstance(keep, list) or not all(isinstance(word, str) for word in keep):
        raise InputError(f"{path}: keep: a list of words is expected")
    listed = value.get("replace") or []
    if not isinstance(listed, list):
        raise InputError(f"{path}: replace: a list of mappings with kind and pattern is expected")
    patterns = [_pattern(entry, f"{path}: replace[{index}]") for index, entry in enumerate(listed)]
    words = frozenset(word for text in keep for word in text.lower().split())
    return PersonalDataRules(patterns=patterns, keep=words)


def _pattern(entry: Any, at: str) -> tuple[Kind, re.Pattern[str]]:
    if not isinstance(entry, dict) or entry.keys() != {"kind", "pattern"}:
        raise InputError(f"{at}: a mapping with kind and pattern is expected")
    kind, pattern = entry["kind"], entry["pattern"]
    if kind not in KINDS:
        raise InputError(
            f'{at}.kind: "{kind}" is no kind{nearest(str(kind), KINDS)} (one of: {", ".join(KINDS)})'
        )
    try:
        compiled = re.compile(str(pattern))
    except re.error as error:
        raise InputError(f"{at}.pattern: {error}") from error
    if compiled.match(""):
        raise InputError(f"{at}.pattern: it matches nothing at all; let it match at least one character")
    return kind, compiled


_EXTRA = ("datasketch", "faker", "phonenumbers", "stdnum", "symspellpy")
_RECORDED = """
recorded:                 # each answer against the recorded one: better, same, worse, or differs
  same_from: 0.5          # likeness of words from which on answers with the same facts say the same
"""
_SHORTEST_LEAK = 5
"""A shorter text may stand in a longer one by chance."""


def check_installed() -> None:
    """
    Return if what the extra ``collect`` brings is there.

    Raises:
        PluginError: something of it is not installed.
    """
    check_extra(_EXTRA, "collect", "replay collect")


def collect(
    paths: Sequence[Path],
    folder: Path,
    *,
    reader: Reader | None = None,
    replaced_list: Path | None = None,
    settings: CollectSettings | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> CollectedSuite:
    """
    Write a suite of conversations in *paths* to *folder*, without personal data.

    All conversations that differ are held in memory. Nothing is written before the personal data of all that
    is taken are replaced; the list of them is written first.

    Args:
        paths: Log files.
        folder: Where the suite goes; not there yet, or empty.
        reader: Of the files; None finds out each file's format.
        replaced_list: Where the list of what was replaced goes; left out, beside *folder*.
        settings: What is taken, and how.
        on_progress: Told what is being done.

    Raises:
        InputError: the logs can't be read, there is nothing to take, or something can't be written.
        PluginError: the extra ``collect`` is not installed.
    """
    check_installed()
    settings = settings or CollectSettings()
    listed = (replaced_list or replaced_path(folder)).absolute()
    _check_places(folder, listed)
    rng = random.Random(settings.seed)

    on_progress("reading the logs")
    errors: list[str] = []
    dropped: Counter[str] = Counter()
    depths: list[int] = []
    candidates = list(_candidates(paths, reader, settings, errors, dropped, depths))
    differing, repeated = split_duplicates(candidates)
    dropped["near-duplicates of another one"] = len(repeated)
    if not differing:
        raise InputError("there is nothing to take: " + _reasons(dropped, len(depths)))

    resolver = EmbeddedResolver()
    count = min(settings.read, sum(one.depth > 1 for one in differing))
    on_progress(f"reading what the questions of {count_text(count, 'conversation')} lean on")
    weighed = read_leaning(differing, settings.read, rng, lambda one: leaning_depths(one, resolver))

    on_progress("replacing personal data")
    taken: list[TakenConversation] = []
    conversations: list[Conversation] = []
    replaced: list[tuple[ReplacedValue, ...]] = []
    for chosen in take(weighed, settings.limit, rng):
        id = f"c{len(taken) + 1:04d}"
        made, values = deidentify(
            chosen.candidate.conversation,
            id=id,
            rules=settings.rules,
            rng=random.Random(f"{settings.seed} {id}"),
        )
        if leaks(made, values):
            dropped["something personal in it could not be replaced everywhere"] += 1
            continue
        metadata = dict(made.metadata)
        if chosen.candidate.leaning:
            metadata[KEY_TURNS] = list(chosen.candidate.leaning)
        metadata |= _known_bad(chosen.candidate.conversation)
        conversations.append(replace(made, metadata=metadata))
        replaced.append(values)
        taken.append(chosen)
    dropped["over the limit"] = (
        len(differing) - len(taken) - dropped["something personal in it could not be replaced everywhere"]
    )

    made_suite = CollectedSuite(
        folder=folder,
        replaced_list=listed,
        conversations=tuple(conversations),
        taken=tuple(taken),
        replaced=tuple(replaced),
        dropped=+dropped,
        depths=tuple(depths),
        candidates=tuple(weighed),
        errors=tuple(errors),
        settings=settings,
    )
    _write(made_suite)
    return made_suite


def _check_places(folder: Path, listed: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f'"{folder}" is there already; name a folder that is not, or an empty one')
    if listed.is_relative_to(folder.absolute()):
        raise InputError(
            f'"{listed}" is in the suite, which others will read; name another place with --replaced'
        )
    if listed.exists():
        raise InputError(f'"{listed}" is there already; name another place with --replaced')


def _candidates(
    paths: Sequence[Path],
    reader: Reader | None,
    settings: CollectSettings,
    errors: list[str],
    dropped: Counter[str],
    depths: list[int],
) -> Iterator[CandidateConversation]:
    """Yield what can be taken; the rest is counted in *dropped* by reason."""

    def note(error: DatasetError) -> None:
        errors.append(str(error))
        dropped["could not be read"] += 1

    conversations = read_conversations(
        paths, reader=reader, on_bad=note if settings.skip_bad else None, limit=None
    )
    for number, conversation in enumerate(conversations):
        depths.append(len(conversation.turns))
        if len(conversation.turns) < settings.min_turns:
            dropped[f"fewer than {settings.min_turns} turns"] += 1
        elif not settings.any_language and not _is_english(conversation):
            dropped["not in English, of which names can be told"] += 1
        else:
            yield CandidateConversation(
                number=number, conversation=conversation, complaint=complaint(conversation)
            )


def _is_english(conversation: Conversation) -> bool:
    languages = [language_of(turn.question, conversation) for turn in conversation.turns]
    foreign = sum(one is not None and one not in ENGLISH_ONLY for one in languages)
    return foreign * 2 <= len(languages) - (len(languages) == 1)


def leaks(conversation: Conversation, values: Sequence[ReplacedValue]) -> bool:
    """Return whether *conversation* still holds one of the *values* that were replaced in it, names apart."""
    text = native_line(conversation).decode()
    return any(
        value.kind != "name" and len(value.original) >= _SHORTEST_LEAK and value.original in text
        for value in values
        if value.original != value.replacement
    )


def _known_bad(conversation: Conversation) -> dict[str, Any]:
    """Return what metadata says of recorded answers that are no reference, as a run reads it."""
    depths, verdict = bad_answers(conversation), bad_verdict(conversation)
    return {
        **({BAD_ANSWERS: list(depths)} if depths else {}),
        **({BAD_CONVERSATION: verdict} if verdict else {}),
    }


def _reasons(dropped: Counter[str], count: int) -> str:
    said = ", ".join(f"{number} {reason}" for reason, number in (+dropped).items())
    return f"{count_text(count, 'conversation', ('was', 'were'))} read{f'; {said}' if said else ''}"


def _write(suite: CollectedSuite) -> None:
    rows = zip(suite.conversations, suite.taken, suite.replaced, strict=True)
    write_replaced(
        suite.replaced_list,
        [(one.id, taken.candidate.conversation.id, values) for one, taken, values in rows],
    )
    folder = suite.folder
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_native(suite.conversations, folder / CONVERSATIONS)
        starter_scenario(folder / SCENARIO, folder / CONVERSATIONS)
        scenario = (folder / SCENARIO).read_text("utf-8")
        name = re.sub(r"[^\w-]+", "-", folder.absolute().name).strip("-") or "suite"
        scenario = scenario.replace("name: my-first-run", f"name: {name}", 1)
        (folder / SCENARIO).write_text(f"{scenario}{_RECORDED}", "utf-8")
        write_report(suite)
