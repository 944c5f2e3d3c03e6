"""
How many turns per second each scorer scores, and what scoring BERTScore in batches is worth.

    python benchmarks/scoring.py [--turns 10000] [--only f1,bleu4] [--seed 0]
    python benchmarks/scoring.py --neural MODEL_FOLDER [--num-layers 5] [--neural-turns 2000] [--per-turn 200]

The turns are made up: conversations of eight, answers and references of common words (12 on average,
in sentences of up to 9; references often two or three), some equal, some declining, with passages, tokens
and times. Turns per second are those of ``observe``, with imports and models loaded before; ``combine`` is
one pass over all observations, which a bootstrap makes a thousand times unless the score is a mean.

With ``--neural`` the scorers of the extra are measured on the model in that folder. BERTScore of all
turns at once is compared with calling it for each turn: on a model that is loaded already, through
bert-score's own ``BERTScorer.score`` and through our scorer, for ``--per-turn`` of the turns; and through
the package's function ``score``, which loads the model at every call, for ten of them. Once for turns of
one policy, where every text is new, and once for a run of four policies on the same data, where
references and many answers are the same.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replay.core.conversation import CANNOT_ANSWER, Passage
from replay.core.record import Timing, TurnRecord, Usage
from replay.core.settings.plugins import available, load
from replay.scorers.bertscore import bertscore, coverage
from replay.scorers.bertscore_model import bert_model
from replay.scorers.scorer import MeanScorer, Scorer, Unscored
from replay.scorers.similarity import sentence_model, similarity

NEURAL = ("bertscore", "coverage", "similarity")
TURNS_EACH = 8
# Common ones, because made-up words would fall into many pieces.
WORDS = """
the of and to in a was he is for it with as his on be at by had are but from or have an they which one
you were her all she there would their we him been has when who will more no if out so said what up its
about into than them can only other new some could time these two may then do first any my now such like
our over man me even most made after also did many before must through back years where much your way
well down should because each just those people how too little state good very make world still own see
men work long get here between both life being under never day same another know while last might us
great old year off come since against go came right used take three states himself few house use during
without again place around however home small found thought went say part once general high upon school
every music city team album river church born played song war film king band water game station train
"""


def synthetic_turns(count: int, seed: int, *, policies: int = 1, declining: float = 0.15) -> list[TurnRecord]:
    """
    *count* turns; the same for the same *seed*.

    With several *policies* every turn of the data is there once for each, with the same references; the
    answer is the first policy's at depth 1, where all ask the same, and past it in 6 of 10 turns.
    """
    rng = random.Random(seed)
    vocabulary = WORDS.split()
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]

    def text() -> str:
        said = rng.choices(vocabulary, weights, k=min(80, 1 + int(rng.expovariate(1 / 12))))
        sentences = [said[start : start + 9] for start in range(0, len(said), 9)]
        return " ".join(" ".join(sentence).capitalize() + "." for sentence in sentences)

    turns: list[TurnRecord] = []
    for number in range(-(-count // policies)):
        gold = tuple(text() for _ in range(rng.choice((1, 1, 2, 3))))
        if rng.random() < declining:
            gold = (CANNOT_ANSWER,)
        first = _answer(rng, gold[0], text, declining)
        for policy in range(policies):
            same = policy == 0 or number % TURNS_EACH == 0 or rng.random() < 0.6
            answer = first if same else _answer(rng, gold[0], text, declining)
            turns.append(_turn(rng, number, f"policy {policy}", gold, answer))
    return turns[:count]


def _answer(rng: random.Random, gold: str, text: Callable[[], str], declining: float) -> str:
    """Something else, most of the words, the gold answer itself, or none."""
    if rng.random() < declining:
        return "I don't know."
    heard = " ".join(word for word in gold.split() if rng.random() < 0.7)
    return rng.choices((text(), heard or text(), gold), (40, 50, 10))[0]


def _turn(rng: random.Random, number: int, policy: str, gold: tuple[str, ...], answer: str) -> TurnRecord:
    ids = [f"p{rng.randrange(40)}" for _ in range(10)]
    latency_s = rng.lognormvariate(-1, 0.5)
    return TurnRecord(
        system="s",
        policy=policy,
        conversation=f"c{number // TURNS_EACH}",
        depth=number % TURNS_EACH + 1,
        turn=f"t{number}",
        recorded="Why?",
        asked="Why?",
        edit="kept",
        drift=None,
        outcome="answered",
        answer=answer,
        gold_answers=gold,
        gold_passages=tuple({ids[3]: None, f"p{rng.randrange(40)}": None}),
        passages=tuple(Passage(id=one, text="") for one in ids),
        usage=Usage(prompt_tokens=20 * len(gold), completion_tokens=len(answer.split())),
        cost_usd=len(answer) / 1e6,
        timing=Timing(scheduled_s=0.0, sent_s=0.0, done_s=latency_s, first_token_s=latency_s / 3),
    )


def seconds(task: Callable[[], Any]) -> float:
    """How long *task* takes, in seconds."""
    begun = time.perf_counter()
    task()
    return time.perf_counter() - begun


def scorer_lines(scorers: Mapping[str, Scorer[Any]], turns: Sequence[TurnRecord]) -> Iterator[str]:
    """A line for each scorer: turns per second, and the time of one ``combine``."""
    yield f"{len(turns):,} turns"
    yield f"{'scorer':<24}{'turns/s':>12}{'combine':>12}"
    for name, scorer in scorers.items():
        scorer.observe(turns[:20])  # imports and caches of patterns are paid here
        observed: list[Any] = []
        spent = seconds(lambda scorer=scorer, observed=observed: observed.extend(scorer.observe(turns)))
        scored = [one for one in observed if not isinstance(one, Unscored)]
        combining = seconds(lambda scorer=scorer, scored=scored: scorer.combine(scored)) if scored else 0.0
        kind = "" if isinstance(scorer, MeanScorer) and scorer.is_mean else "  not a mean"
        yield f"{name:<24}{len(turns) / spent:>12,.0f}{1000 * combining:>9.2f} ms{kind}"


def light_scorers(only: Sequence[str]) -> dict[str, Scorer[Any]]:
    """The installed scorers that need no model, with their default settings; *only* these, if any."""
    names = [name for name in available("scorers") if name not in NEURAL and name in (only or [name])]
    return {name: load("scorers", name, Path())() for name in names}


def neural_lines(model: str, num_layers: int, count: int, seed: int, per_turn: int) -> Iterator[str]:
    """Turns per second of the neural scorers, and BERTScore in a batch against one turn at a time."""
    turns = synthetic_turns(count, seed)
    bertscores: dict[str, Scorer[Any]] = {
        "bertscore": bertscore(model=model, num_layers=num_layers),
        "bertscore, recall too": bertscore(model=model, num_layers=num_layers, part="recall"),
    }
    fresh_model(model, num_layers)
    yield from scorer_lines(bertscores, turns)
    for name, scorer in (
        ("coverage", coverage(model=model, num_layers=num_layers)),
        ("similarity", similarity(model=model)),
    ):
        fresh_model(model, num_layers)
        yield list(scorer_lines({name: scorer}, turns))[-1]
    for policies in (1, 4):
        turns = synthetic_turns(count, seed, policies=policies, declining=0.0)
        yield ""
        yield f"bertscore, {policies} {'policy' if policies == 1 else 'policies'}"
        yield from bertscore_lines(model, num_layers, turns, per_turn)


def bertscore_lines(model: str, num_layers: int, turns: Sequence[TurnRecord], per_turn: int) -> Iterator[str]:
    """BERTScore of *turns* in one batch, and of *per_turn* of them one at a time, models loaded before."""
    from bert_score import BERTScorer, score

    scorer = bertscore(model=model, num_layers=num_layers)
    some = random.Random(0).sample(turns, min(per_turn, len(turns)))
    package = BERTScorer(model_type=model, num_layers=num_layers)
    package.score(["warm"], ["up"])

    def packages_scorer() -> None:
        for record in some:
            package.score([record.answer], [list(record.gold_answers)])

    def one_by_one() -> None:
        for record in some:
            scorer.observe([record])

    def packages_function() -> None:
        for record in some[:10]:
            score([record.answer], [list(record.gold_answers)], model_type=model, num_layers=num_layers)

    fresh_model(model, num_layers)
    batched = len(turns) / seconds(lambda: scorer.observe(turns))
    yield f"{'all turns at once':<34}{len(turns):>7,} turns{batched:>10,.1f} turns/s"
    for name, task, count in (
        ("BERTScorer.score, turn by turn", packages_scorer, len(some)),
        ("our scorer, turn by turn", one_by_one, len(some)),
        ("bert_score.score, turn by turn", packages_function, len(some[:10])),
    ):
        fresh_model(model, num_layers)
        rate = count / seconds(task)
        yield f"{name:<34}{count:>7,} turns{rate:>10,.1f} turns/s   at once is {batched / rate:.1f} x as fast"


def fresh_model(model: str, num_layers: int) -> None:
    """Load the model anew, so that nothing that was scored is known, and run it once."""
    bert_model.cache_clear()
    sentence_model.cache_clear()
    bert_model(model, num_layers, None).score([("warm", "up")])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names of scorers, with commas between")
    parser.add_argument("--neural", metavar="MODEL_FOLDER", default="")
    parser.add_argument("--num-layers", type=int, default=5)
    parser.add_argument("--neural-turns", type=int, default=2000)
    parser.add_argument("--per-turn", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.neural:
        lines = neural_lines(
            arguments.neural,
            arguments.num_layers,
            arguments.neural_turns,
            arguments.seed,
            arguments.per_turn,
        )
    else:
        only = [name for name in arguments.only.split(",") if name]
        lines = scorer_lines(light_scorers(only), synthetic_turns(arguments.turns, arguments.seed))
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
