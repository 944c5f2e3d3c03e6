"""
The reader's network and how it is fitted to training examples: all heads together, in batches of like
lengths.

An encoder with heads that mark what a question leaves unsaid and point at what it means. The encoder has the
shape of MiniLM (Wang et al., NeurIPS 2020), that is BERT's, with learned *roles* in the place of token types.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from replay.coreference.reading.network import ARTICLES, PREPOSITIONS
from replay.coreference.reading.sequence import LONGEST_SPAN, ROLES
from replay.coreference.training.examples import Span, TrainingExample

WIDTH = 384
HEADS = 12
POINTER = 128
PHRASE = 64
TAGS = 3
"""Insert before this token, leave this token out, put a possessive."""


class Layer(nn.Module):  # type: ignore[misc]
    """One transformer layer, normalized after each sum, as in BERT."""

    qkv: nn.Linear
    out: nn.Linear
    attended: nn.LayerNorm
    wide: nn.Linear
    narrow: nn.Linear
    fed: nn.LayerNorm
    drop: nn.Dropout

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.attended, self.fed = nn.LayerNorm(WIDTH, 1e-12), nn.LayerNorm(WIDTH, 1e-12)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        # Not by scaled_dot_product_attention, whose backward pass takes thrice the time on a processor.
        weights = torch.softmax(q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5 + bias.to(q.dtype), -1)
        mixed = (weights.to(v.dtype) @ v).transpose(1, 2).reshape(batch, length, WIDTH)
        x = self.attended(x + self.out(mixed))
        return self.fed(x + self.drop(self.narrow(functional.gelu(self.wide(x)))))


class ReaderNetwork(nn.Module):  # type: ignore[misc]
    """Token ids and roles in, tags, pointers, wording and a verdict out."""

    words: nn.Embedding
    positions: nn.Embedding
    roles: nn.Embedding
    normalized: nn.LayerNorm
    layers: nn.ModuleList
    tags: nn.Linear
    preposition: nn.Linear
    article_here: nn.Linear
    article_there: nn.Linear
    capital: nn.Linear
    from_start: nn.Linear
    to_start: nn.Linear
    from_end: nn.Linear
    to_end: nn.Linear
    phrase_start: nn.Linear
    phrase_end: nn.Linear
    verdict: nn.Sequential

    def __init__(self, vocabulary: int, layers: int = 6) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.roles = nn.Embedding(ROLES, WIDTH)
        self.normalized = nn.LayerNorm(WIDTH, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.tags = nn.Linear(WIDTH, TAGS)
        self.preposition = nn.Linear(WIDTH, len(PREPOSITIONS))
        self.article_here, self.article_there = (
            nn.Linear(WIDTH, len(ARTICLES)),
            nn.Linear(WIDTH, len(ARTICLES)),
        )
        self.capital = nn.Linear(WIDTH, 1)
        self.from_start, self.to_start = nn.Linear(WIDTH, POINTER), nn.Linear(WIDTH, POINTER)
        self.from_end, self.to_end = nn.Linear(WIDTH, POINTER), nn.Linear(WIDTH, POINTER)
        self.phrase_start, self.phrase_end = nn.Linear(WIDTH, PHRASE), nn.Linear(WIDTH, PHRASE)
        self.verdict = nn.Sequential(nn.Linear(WIDTH, 128), nn.GELU(), nn.Linear(128, 1))

    def encode(self, ids: Tensor, roles: Tensor, mask: Tensor) -> Tensor:
        """Return a vector for each token, ``[batch, length, WIDTH]``; *mask* is 1 where there is one."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.normalized(self.words(ids) + self.positions(places) + self.roles(roles))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e4
        for layer in self.layers:
            x = layer(x, bias)
        return x

    def read(self, x: Tensor, asked: int) -> tuple[Tensor, ...]:
        """
        Return what the heads say of the first *asked* tokens.

        Tags ``[batch, asked, TAGS]``, start and end of what is meant ``[batch, asked, length]``, phrases
        from one token to another ``[batch, length, length]``, preposition ``[batch, asked, P]``, article
        here ``[batch, asked, A]`` and there ``[batch, length, A]``, capital ``[batch, length]``; all of them
        logits.
        """
        here = x[:, :asked]
        scale = POINTER**-0.5
        start = self.from_start(here) @ self.to_start(x).transpose(1, 2) * scale
        end = self.from_end(here) @ self.to_end(x).transpose(1, 2) * scale
        phrases = self.phrase_start(x) @ self.phrase_end(x).transpose(1, 2) * PHRASE**-0.5
        return (
            self.tags(here),
            start,
            end,
            phrases,
            self.preposition(here),
            self.article_here(here),
            self.article_there(x),
            self.capital(x)[..., 0],
        )

    def judge(self, x: Tensor) -> Tensor:
        """Return the logit of "means something else now" for each pair, ``[batch]``."""
        judged: Tensor = self.verdict(x[:, 0])[..., 0]
        return judged


def load_pretrained(folder: Path, kept: list[int], layers: int = 6) -> ReaderNetwork:
    """Return a network with the weights of the MiniLM in *folder*, for the *kept* pieces of its
    vocabulary."""
    from safetensors.torch import load_file

    weights: dict[str, Any] = load_file(folder / "model.safetensors")
    network = ReaderNetwork(len(kept), layers)
    with torch.no_grad():
        network.words.weight.copy_(weights["embeddings.word_embeddings.weight"][kept])
        network.positions.weight.copy_(weights["embeddings.position_embeddings.weight"])
        network.roles.weight.copy_(weights["embeddings.token_type_embeddings.weight"][:1].repeat(ROLES, 1))
        _copy(network.normalized, weights, "embeddings.LayerNorm")
        for number, layer in enumerate(network.layers):
            name = f"encoder.layer.{number}"
            for part in ("weight", "bias"):
                attention = [weights[f"{name}.attention.self.{k}.{part}"] for k in ("query", "key", "value")]
                getattr(layer.qkv, part).copy_(torch.cat(attention))
            _copy(layer.out, weights, f"{name}.attention.output.dense")
            _copy(layer.attended, weights, f"{name}.attention.output.LayerNorm")
            _copy(layer.wide, weights, f"{name}.intermediate.dense")
            _copy(layer.narrow, weights, f"{name}.output.dense")
            _copy(layer.fed, weights, f"{name}.output.LayerNorm")
    return network


def _copy(module: Any, weights: dict[str, Any], name: str) -> None:
    module.weight.copy_(weights[f"{name}.weight"])
    module.bias.copy_(weights[f"{name}.bias"])


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
