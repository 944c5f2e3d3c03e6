"""A random language model of two small layers, as a folder: what neural scorers are tested with."""

from __future__ import annotations

from pathlib import Path

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
