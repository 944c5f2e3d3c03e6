"""Fits the reader's network to training examples: all heads together, in batches of like lengths."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from replay.coreference.reading.sequence import LONGEST_SPAN
from replay.coreference.training.edits import Span
from replay.coreference.training.examples import TrainingExample
from replay.coreference.training.network import TAGS, ReaderNetwork

BATCH_TOKENS = 3072
"""Of a batch, with its padding: short sequences come in larger batches."""
LEARNING_RATE = 1.2e-4
HEADS_RATE = 8e-4
_AWAY = -1e4


class Batch:
    """Examples of like lengths as tensors, ``[batch, length]`` where nothing else is said."""

    asked: int
    """The longest of the questions, as ``TrainingExample.asked``."""
    ids: Tensor
    roles: Tensor
    mask: Tensor
    tags: Tensor
    tags_known: Tensor
    """``[batch, asked, TAGS]``: which tags an example says anything about."""
    capitals: Tensor
    texts: Tensor
    begins: Tensor
    ends: Tensor
    weights: Tensor
    """``[batch]``."""

    def __init__(self, examples: Sequence[TrainingExample]) -> None:
        self.examples = examples
        length = max(len(example.ids) for example in examples)
        self.asked = max(example.asked for example in examples)
        count = len(examples)
        self.ids = torch.zeros(count, length, dtype=torch.long)
        self.roles, self.mask = torch.zeros_like(self.ids), torch.zeros_like(self.ids)
        self.tags = torch.zeros(count, self.asked, TAGS)
        self.tags_known = torch.zeros(count, self.asked, TAGS)
        self.capitals = torch.full((count, length), -1.0)
        self.texts = torch.zeros(count, length, dtype=torch.long)
        self.begins = torch.zeros(count, length, dtype=torch.bool)
        self.ends = torch.zeros_like(self.begins)
        self.weights = torch.tensor([example.weight for example in examples])
        for row, e in enumerate(examples):
            size = len(e.ids)
            self.ids[row, :size] = torch.tensor(e.ids)
            self.roles[row, :size] = torch.tensor(e.roles)
            self.mask[row, :size] = 1
            self.texts[row, :size] = torch.tensor(e.texts)
            self.begins[row, e.begins] = True
            self.ends[row, e.ends] = True
            if e.changed is None:
                self._mark(row, e)

    def _mark(self, row: int, e: TrainingExample) -> None:
        self.tags_known[row, 1 : e.asked, :2] = 1
        for tag, positions in enumerate((e.inserts, e.deletes, e.possessives)):
            self.tags[row, positions, tag] = 1
        self.tags_known[row, e.inserts, 2] = 1
        self.tags_known[row, e.untagged, :2] = 0
        for position, capital in e.capitals:
            self.capitals[row, position] = float(capital)


def loss_of(network: ReaderNetwork, batch: Batch) -> Tensor:
    """Return the batch's loss, the sum of all heads'."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = network.encode(batch.ids, batch.roles, batch.mask)
    x = x.float()
    tags, start, end, phrases, preposition, here, there, capital = network.read(x, batch.asked)
    weights = batch.weights
    each = functional.binary_cross_entropy_with_logits(tags, batch.tags, reduction="none")
    each = each * batch.tags_known * torch.tensor([1.0, 0.7, 0.5])
    total = (each.sum((1, 2)) * weights).sum()

    rows = [(row, p, spans) for row, e in enumerate(batch.examples) for p, spans in e.pointers]
    if rows:
        which, positions = [row for row, _, _ in rows], [position for _, position, _ in rows]
        pointed = weights[which]
        cost = _spans_cost(start[which, positions], end[which, positions], phrases[which], batch, rows)
        total = total + (2 * cost * pointed).sum()
        said = [(row, p, spans) for row, p, spans in rows if p in batch.examples[row].prepositions]
        if said:
            which, positions = [row for row, _, _ in said], [position for _, position, _ in said]
            first = [spans[-1][0] for _, _, spans in said]
            kinds = torch.tensor([batch.examples[row].prepositions[p] for row, p, _ in said])
            articles = torch.tensor([batch.examples[row].articles[p] for row, p, _ in said])
            cost = functional.cross_entropy(preposition[which, positions], kinds, reduction="none")
            both = here[which, positions] + there[which, first]
            cost = 0.5 * cost + 0.5 * functional.cross_entropy(both, articles, reduction="none")
            total = total + (cost * weights[which]).sum()
    known = batch.capitals >= 0
    if known.any():
        cost = functional.binary_cross_entropy_with_logits(capital[known], batch.capitals[known])
        total = total + 0.1 * len(batch.examples) * cost
    pairs = [row for row, e in enumerate(batch.examples) if e.changed is not None]
    if pairs:
        truth = torch.tensor([batch.examples[row].changed for row in pairs], dtype=torch.float)
        cost = functional.binary_cross_entropy_with_logits(network.judge(x[pairs]), truth, reduction="none")
        total = total + (1.5 * cost * weights[pairs]).sum()
    return total / len(batch.examples)


def _spans_cost(
    start: Tensor, end: Tensor, phrases: Tensor, batch: Batch, rows: Sequence[tuple[int, int, list[Span]]]
) -> Tensor:
    """Return for each of *rows* how improbable its right spans are among all that are possible."""
    length = start.shape[1]
    first = torch.arange(length)[:, None]
    last = first + torch.arange(LONGEST_SPAN)
    is_inside, last = last < length, last.clamp(max=length - 1)
    which = [row for row, _, _ in rows]
    texts, begins, ends = batch.texts[which], batch.begins[which], batch.ends[which]
    possible = begins[:, :, None] & ends[:, last] & (texts[:, :, None] == texts[:, last]) & is_inside
    right = torch.zeros_like(possible)
    for n, (_, _, spans) in enumerate(rows):
        for i, j in spans:
            if j - i < LONGEST_SPAN:
                right[n, i, j - i] = True
    scores = start[:, :, None] + end[:, last] + phrases[:, first, last]
    among = torch.where(possible | right, scores, _AWAY).flatten(1).logsumexp(1)
    # Any of the places where it is said is right; a span that is too long can't be learned.
    meant = torch.where(right, scores, _AWAY).flatten(1).logsumexp(1)
    return torch.where(right.flatten(1).any(1), among - meant, 0.0)


def batches(examples: Sequence[TrainingExample], rng: random.Random) -> Iterator[list[TrainingExample]]:
    """Yield *examples* once, shuffled, in batches of ``BATCH_TOKENS``."""
    order = list(examples)
    rng.shuffle(order)
    for at in range(0, len(order), 2000):
        pool = sorted(order[at : at + 2000], key=lambda e: len(e.ids))
        cut: list[list[TrainingExample]] = [[]]
        for example in pool:
            if cut[-1] and (len(cut[-1]) + 1) * len(example.ids) > BATCH_TOKENS:
                cut.append([])
            cut[-1].append(example)
        rng.shuffle(cut)
        yield from cut


def fit(
    network: ReaderNetwork,
    epochs: Sequence[Sequence[TrainingExample]],
    *,
    seed: int = 0,
    rate: float = 1.0,
    frozen: int = 0,
    say: Callable[[str], None] = print,
) -> None:
    """
    Train *network* on each of *epochs* once, in order.

    *rate* scales the learning rates; embeddings and the first *frozen* layers stay as they are.
    """
    rng = random.Random(seed)
    torch.manual_seed(seed)
    all_batches = [batch for examples in epochs for batch in batches(examples, rng)]
    for module in (network.words, network.positions, *network.layers[:frozen]):
        module.requires_grad_(False)
    encoder = [p for layer in network.layers for p in layer.parameters() if p.requires_grad]
    known = {id(p) for p in encoder}
    heads = [p for p in network.parameters() if p.requires_grad and id(p) not in known]
    groups = [{"params": encoder, "lr": LEARNING_RATE * rate}, {"params": heads, "lr": HEADS_RATE * rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = len(all_batches)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (0.05 * steps + 1)) * max(0.02, 1 - step / steps)
    )
    network.train()
    began, mean, seen = time.monotonic(), 0.0, 0
    for step, examples in enumerate(all_batches):
        loss = loss_of(network, Batch(examples))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        seen += len(examples)
        mean = loss.item() if step == 0 else 0.98 * mean + 0.02 * loss.item()
        if step % 100 == 0 or step == steps - 1:
            say(f"step {step} of {steps}, {seen} examples, loss {mean:.3f}, {time.monotonic() - began:.0f} s")
    network.eval()
