"""All training examples of the reader, from files of data; what is held out is never among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.sequence import WordPiece
from replay.coreference.training.annotated import (
    AnnotatedTurn,
    is_held_out,
    read_dialogues,
    read_examples,
    with_titles,
)
from replay.coreference.training.examples import (
    TrainingExample,
    edits_between,
    from_marks,
    from_pair,
    from_rewrite,
    without_background,
)
from replay.coreference.training.synthetic import CorruptedExample, corrupt, undo_rewrite

WEIGHTS = {"canard_train": 0.6, "qrecc_a": 1.0, "gecor_a": 0.8, "pacific_a": 0.8}
_CARELESS = 0.15
"""Of the questions are in lower case and without stops."""
_UNTITLED = 0.4
"""Of the questions with a title are shown without it as well."""
WINDOW = 8
"""Exchanges of a data set's question that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFiles:
    """Where the data lie; those left empty are done without."""

    rewrites: Sequence[Path] = ()
    dialogues: Sequence[Path] = ()
    older_dialogues: Sequence[Path] = ()
    """Of which those at odd positions are held out."""
    exchanges: Sequence[Path] = ()
    silver: bool = True
    pairs: bool = True


def prepare(
    files: TrainingFiles, pieces: WordPiece, *, seed: int = 0, processes: int = 2
) -> list[TrainingExample]:
    """Return the examples of all *files*, shuffled."""
    rng = random.Random(seed)
    jobs: list[Callable[[WordPiece], list[TrainingExample]]] = []
    questions = [e for e in with_titles(read_examples(files.rewrites)) if not is_held_out(e)]
    for example in questions:
        document = _vary_style(example.document, rng)
        jobs.append(partial(_from_question, document, example.rewrite, example.source))
        if document.title and rng.random() < _UNTITLED:
            untitled = without_background(document)
            jobs.append(partial(_from_question, untitled, example.rewrite, example.source))
        if files.silver and rng.random() < (0.35 if example.source == "canard_train" else 0.8):
            silver = "document silver" if example.source == "documents" else "silver"
            jobs.append(partial(_from_undone, document, example.rewrite, rng.random(), silver))
    if files.pairs:
        told = (e for e in questions if e.source != "documents")
        wanted = [e for e in told if e.source != "canard_train" or rng.random() < 0.12]
        for one in corrupt(wanted, seed=seed, harmless=True):
            if rng.random() < 0.2:
                jobs.append(partial(_from_corrupted, one))
    for turn, others in _with_others(read_dialogues(files.dialogues)):
        jobs.append(partial(_from_dialogue, turn, others, files.pairs, rng.random()))
        if files.silver and turn.standalone:
            jobs.append(partial(_from_undone, turn.gold, turn.standalone, rng.random(), "dialogue silver"))
    for turn in read_dialogues(files.older_dialogues):
        if not turn.held_out:
            jobs.append(partial(_from_older_dialogue, turn, files.pairs))
    jobs += [
        partial(_from_exchange, line)
        for path in files.exchanges
        for line in path.read_text("utf-8").splitlines()
    ]
    rng.shuffle(jobs)
    with ProcessPoolExecutor(processes) as pool:
        done = pool.map(partial(_done, pieces), jobs, chunksize=200)
        return [example for examples in done for example in examples]


def _done(pieces: WordPiece, job: Callable[[WordPiece], list[TrainingExample]]) -> list[TrainingExample]:
    return job(pieces)


def _vary_style(document: Document, rng: random.Random) -> Document:
    """Return *document* as a conversation might have it, some in lower case and without stops."""
    document = replace(document, turns=document.turns[-WINDOW:])
    if rng.random() < _CARELESS:
        document = replace(document, question=document.question.lower().rstrip("?. "))
    return document


def _from_question(document: Document, rewrite: str, source: str, pieces: WordPiece) -> list[TrainingExample]:
    return _some(from_rewrite(pieces, document, rewrite, weight=WEIGHTS.get(source, 1.0), source=source))


def _from_undone(
    document: Document, standalone: str, seed: float, source: str, pieces: WordPiece
) -> list[TrainingExample]:
    made = undo_rewrite(document, standalone, random.Random(seed))
    if made is None:
        return []
    leaning, rewrite, name = made
    return _some(from_rewrite(pieces, leaning, rewrite, spans=[name], weight=0.6, source=source))


def _from_corrupted(one: CorruptedExample, pieces: WordPiece) -> list[TrainingExample]:
    example = one.example
    spans = [edit.text for edit in edits_between(example.document.question, example.rewrite)]
    gold, own = (replace(d, turns=d.turns[-WINDOW:]) for d in (example.document, one.document))
    return [
        from_pair(
            pieces,
            gold,
            own,
            spans,
            changed=float(bool(one.lost)),
            weight=0.35,
            source=f"pair {example.source}",
        )
    ]


def _with_others(turns: Sequence[AnnotatedTurn]) -> Iterator[tuple[AnnotatedTurn, tuple[str, ...]]]:
    """Yield each of *turns* with what the other questions of its dialogue lean on."""
    spans: dict[str, list[str]] = {}
    for turn in turns:
        spans.setdefault(turn.dialog, []).extend(turn.leans_on)
    for turn in turns:
        yield turn, tuple(span for span in spans[turn.dialog] if span not in turn.leans_on)


def _from_dialogue(
    turn: AnnotatedTurn, others: tuple[str, ...], pairs: bool, seed: float, pieces: WordPiece
) -> list[TrainingExample]:
    rng = random.Random(seed)
    found: list[TrainingExample] = []
    if turn.standalone:
        document = turn.gold
        if rng.random() < _CARELESS:
            document = replace(document, question=document.question.lower().rstrip("?. "))
        gold = from_rewrite(
            pieces, document, turn.standalone, spans=turn.leans_on, weight=1.5, source="dialogue"
        )
        found += _some(gold)
        if gold is not None and turn.same is not None:
            spans = turn.leans_on if turn.same else turn.leans_on_own
            own = replace(turn.own, question=document.question)
            found.append(from_marks(pieces, own, replace(gold, weight=1.0), spans))
    if pairs and turn.same is not None:
        judged = partial(from_pair, pieces, changed=float(not turn.same), source="pair dialogue")
        meant = turn.leans_on
        # What a question means is read by the network, and so now and then wrong or missing.
        if others and rng.random() < (0.25 if meant else 0.5):
            meant = (rng.choice(others),)
        found.append(judged(turn.gold, turn.own, meant, weight=1.5))
        # With the histories exchanged it is as true.
        back = turn.leans_on if turn.same else turn.leans_on_own
        said = " ".join(text for e in turn.own.turns for text in (e.question, e.answer))
        if back and all(span in said for span in back):
            found.append(judged(turn.own, turn.gold, back, weight=1.0))
    return found


def _from_older_dialogue(turn: AnnotatedTurn, pairs: bool, pieces: WordPiece) -> list[TrainingExample]:
    if turn.same is None:
        return []
    found = []
    if turn.refers_by == "nothing":
        found += _some(from_rewrite(pieces, turn.gold, turn.gold.question, source="older dialogue"))
    if pairs and (turn.names or turn.refers_by == "nothing"):
        said = " ".join(t for e in turn.gold.turns for t in (e.question, e.answer))
        names = [name for name in turn.names if name in said]
        found.append(
            from_pair(
                pieces, turn.gold, turn.own, names, changed=float(not turn.same), source="pair older dialogue"
            )
        )
    return found


def read_exchange(line: str) -> tuple[Document, list[str], str]:
    """Return the question of an exchange in its history, what it leans on, and its standalone form."""
    asked, answer, question, span, standalone = line.split(" | ")
    exchange = Exchange(question="" if asked == "-" else asked, answer=answer)
    document = Document(question=question, turns=(exchange,))
    return document, [] if span == "-" else span.split(" & "), question if standalone == "=" else standalone


def _from_exchange(line: str, pieces: WordPiece) -> list[TrainingExample]:
    document, spans, standalone = read_exchange(line)
    return _some(from_rewrite(pieces, document, standalone, spans=spans, weight=1.2, source="exchange"))


def _some(example: TrainingExample | None) -> list[TrainingExample]:
    return [] if example is None else [example]


def by_source(examples: Iterable[TrainingExample]) -> Iterator[tuple[str, int, int]]:
    """Yield each source with how many examples it has, and how many of these lean on something or changed."""
    found: dict[str, list[TrainingExample]] = {}
    for example in examples:
        found.setdefault(example.source, []).append(example)
    for source, group in sorted(found.items()):
        yield source, len(group), sum(bool(e.inserts) or bool(e.changed) for e in group)
