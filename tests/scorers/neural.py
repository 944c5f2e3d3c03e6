"""A tiny BERT, and what scorers with a model keep of the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.scorers.scorer import Unscored

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "paris",
    "london",
    "city",
    "of",
    "was",
    "it",
    *".,!?189",
]
PIECES = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz189")]


def write_tiny_model(folder: Path, *, tokens: int | None = 64) -> Path:
    """
    Write model and tokenizer into *folder*; the same weights every time.

    *tokens* is the tokenizer's limit, the model's is 64.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PIECES]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(vocabulary)) + "\n", "utf-8")
    limit = {} if tokens is None else {"model_max_length": tokens}
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=True, **limit)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        BertModel(config).save_pretrained(folder)
    return folder


TOLERANCE = 5e-6


def close(value: Any) -> Any:
    """*value*, or something that differs from it by no more than float noise."""
    return pytest.approx(value, abs=TOLERANCE)


def alike(observed: list[Any], others: list[Any]) -> bool:
    """Whether two sequences of observations are the same but for float noise."""
    return len(observed) == len(others) and all(
        one == other if isinstance(one, Unscored) or isinstance(other, Unscored) else one == close(other)
        for one, other in zip(observed, others, strict=True)
    )


def without_batch_noise(contract: type) -> type:
    """*contract* with the claim about batches held to float tolerance."""

    def test_an_observation_does_not_depend_on_its_batch(self, scorer, records):
        alone = [scorer.observe([record])[0] for record in records]

        assert alike(list(scorer.observe(records)), alone)
        assert alike(list(scorer.observe(records[::-1])), alone[::-1])

    contract.test_an_observation_does_not_depend_on_its_batch = (
        test_an_observation_does_not_depend_on_its_batch
    )
    return contract
