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
_LEAST_SAID = 5
_WORD = re.compile(r"[a-z][a-z'.-]*[a-z]")


def chosen_words(examples: Iterable[Example], vocabulary: Iterable[str]) -> list[str]:
    """``WORDS`` words at most, each once: those said most in *examples*, then *vocabulary*'s in its order."""
    said: Counter[str] = Counter()
    seen: set[str] = set()
    for example in examples:
        texts = [text for turn in example.document.turns for text in (turn.question, turn.answer)]
        for text in (*texts, example.document.question, example.rewrite):
            if text not in seen:
                seen.add(text)
                said.update(words(text))
    often = [word for word, count in said.most_common() if count >= _LEAST_SAID and _WORD.fullmatch(word)]
    known = [word for word in vocabulary if _WORD.fullmatch(word) and word not in said]
    return list(dict.fromkeys([*often, *known]))[:WORDS]


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
    chosen = chosen_words(examples, (word for word, _ in by_number))
    meanings = np.asarray(model.encode(chosen, batch_size=256, normalize_embeddings=True), np.float64)
    meanings -= meanings.mean(axis=0)
    axes = np.linalg.svd(meanings, full_matrices=False)[2][:SIZE]
    rows = meanings @ axes.T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    stored = np.clip(np.round(rows * 127), -127, 127).astype(np.int8)
    np.savez_compressed(options.out, words=np.frombuffer("\n".join(chosen).encode(), np.uint8), rows=stored)
    print(f"{len(chosen)} words, {options.out.stat().st_size / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
