"""
The reader's network: an encoder with heads that mark what a question leaves unsaid and point at what it
means.

The encoder has the shape of MiniLM (Wang et al., NeurIPS 2020), that is BERT's, with learned *roles* in the
place of token types.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from replay.coreference.reading.network import ARTICLES, PREPOSITIONS
from replay.coreference.reading.sequence import ROLES

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


def pretrained(folder: Path, kept: list[int], layers: int = 6) -> ReaderNetwork:
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
