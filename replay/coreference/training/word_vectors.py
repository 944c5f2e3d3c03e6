"""
Makes the vectors of words (``replay.coreference.vectors``) with a sentence encoder.

    python -m replay.coreference.training.word_vectors MODEL canard_train.json [more files]

MODEL is all-MiniLM-L6-v2 (Apache-2.0) as a folder or a name that sentence-transformers knows; needs the
``neural`` extra. It reads each word by itself; the 32 main axes of what it says are kept, in eight bits.
The words are those said most in the files, then those of the model's own vocabulary.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from replay.core.errors import ReplayError
from replay.coreference.training.annotated_questions import Example, read_examples
from replay.coreference.vectors import FILE, SIZE
from replay.coreference.words import words

WORDS = 20_000
_AXES_OF = 16_000
"""The axes are those of so many words, the first ones."""
_LEAST_SAID = 5
_SAID = re.compile(r"[a-z][a-z'.-]*[a-z]")
_KNOWN = re.compile(r"[a-z]{2,}")


def said_words(examples: Iterable[Example]) -> Counter[str]:
    """How often each word is said in *examples*, a text that several of them hold counting once."""
    said: Counter[str] = Counter()
    seen: set[str] = set()
    for example in examples:
        texts = [text for turn in example.document.turns for text in (turn.question, turn.answer)]
        for text in (*texts, example.document.question, example.rewrite):
            if text not in seen:
                seen.add(text)
                said.update(words(text))
    return said


def candidates(said: Counter[str], vocabulary: Iterable[str]) -> list[str]:
    """The words *said* often, most of all first, then *vocabulary*'s in its order; each once."""
    often = [word for word, count in said.most_common() if count >= _LEAST_SAID and _SAID.fullmatch(word)]
    return list(dict.fromkeys([*often, *(word for word in vocabulary if _KNOWN.fullmatch(word))]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m replay.coreference.training.word_vectors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model")
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / FILE)
    options = parser.parse_args(arguments)
    try:
        examples = read_examples(options.data)
    except ReplayError as error:
        print(error, file=sys.stderr)
        return 1
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(options.model, device="cpu")
    by_number = sorted(model.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    said = said_words(examples)
    found = candidates(said, (word for word, _ in by_number))
    meanings = np.asarray(model.encode(found, batch_size=256, normalize_embeddings=True), np.float32)
    meanings -= meanings.mean(axis=0)
    axes = np.linalg.svd(meanings[:_AXES_OF], full_matrices=False)[2][:SIZE]
    most_said = sorted(range(len(found)), key=lambda number: -said[found[number]])[:WORDS]
    kept = sorted(most_said)
    rows = meanings[kept] @ axes.T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    chosen = [found[number] for number in kept]
    stored = np.clip(np.round(rows * 127), -127, 127).astype(np.int8)
    np.savez_compressed(options.out, words=np.frombuffer("\n".join(chosen).encode(), np.uint8), rows=stored)
    print(f"{len(chosen)} words, {options.out.stat().st_size / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
