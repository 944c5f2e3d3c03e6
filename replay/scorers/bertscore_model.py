"""
Pairs of texts scored by one loaded model through the bert-score package (Zhang et al., 2020,
*BERTScore: Evaluating Text Generation with BERT*).

The package's own ``score`` walks its texts in the order of a set, so that batches, and with them the
last digits, change with the hash seed; and precision, recall and F would each be computed again. Here
its parts (tokenization, encoding, idf, greedy matching) are called in a fixed order: every text of a
call is embedded once, longest first, and what a pair scored is kept for the next scorer that asks.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from replay.core.errors import PluginError
from replay.core.neural_models import cant_load, encodable, neural_module, quietly

T = TypeVar("T")
Pair = tuple[str, str]
"""Candidate and reference."""

DIGITS = 6
"""What is kept of a score: digits past these depend on which texts share a batch."""
BLOCK = 2048
"""Pairs whose embeddings are made before they are compared."""
HELD_FLOATS = 2**28
"""Embeddings held at a time, 1 GiB; a text that is met again after that is embedded again."""
KEPT_PAIRS = 500_000


class BertScores(NamedTuple):
    """Precision, recall and F1 of a pair; unless rescaled, for most models between 0 and 1."""

    precision: float
    recall: float
    f1: float


@lru_cache(maxsize=2)
def bert_model(model: str, num_layers: int | None, device: str | None) -> BertModel:
    """
    Return the loaded *model*, a hub's name or a folder's path; loaded once for all scorers of the process.

    Raises:
        PluginError: bert-score is not installed, the model can't be loaded, or it has no such layer.
    """
    return BertModel(model, num_layers, device)


class BertModel:
    """A model up to one of its layers, and what its pairs have scored."""

    def __init__(self, model: str, num_layers: int | None, device: str | None) -> None:
        self._parts = neural_module("bert_score.utils", "bertscore")
        self._torch = neural_module("torch", "bertscore")
        self.name = model
        self.num_layers: int = self._layers(model, num_layers)
        try:
            with quietly():
                self._tokenizer = self._parts.get_tokenizer(model)
                self._model = self._parts.get_model(model, self.num_layers)
        except AssertionError as error:
            raise PluginError(f'num_layers: the model "{model}" has no layer {num_layers}') from error
        except (OSError, ValueError) as error:
            raise cant_load(model, error) from error
        self._device = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        self._model.to(self._device)
        # A tokenizer without a limit of its own would let a long answer run past the positions.
        limit = getattr(self._model.config, "max_position_embeddings", None)
        if isinstance(limit, int) and limit > 0 and self._tokenizer.model_max_length > limit:
            self._tokenizer.model_max_length = limit
        self._kept: dict[tuple[str, str, str], BertScores | None] = {}

    def _layers(self, model: str, num_layers: int | None) -> int:
        if num_layers is not None:
            return num_layers
        known: Mapping[str, int] = self._parts.model2layers
        if model not in known:
            raise PluginError(
                f'num_layers: bert-score knows no best layer of "{model}"; give one, counted from 1'
            )
        return known[model]

    def baseline(self, lang: str) -> BertScores:
        """
        Return the scores of unrelated sentences of the language *lang*, as published with bert-score.

        Raises:
            PluginError: nothing is published for this model and language.
        """
        place = Path(self._parts.__file__).parent / "rescale_baseline" / lang / f"{self.name}.tsv"
        if not place.is_file():
            raise PluginError(
                f'rescale: bert-score publishes no baseline for "{self.name}" in "{lang}"; turn rescale off'
            )
        with place.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        row = next((row for row in rows if int(row["LAYER"]) == self.num_layers), None)
        if row is None:
            raise PluginError(f'rescale: the baseline of "{self.name}" has no layer {self.num_layers}')
        return BertScores(float(row["P"]), float(row["R"]), float(row["F"]))

    def score(
        self, pairs: Sequence[Pair], *, idf_references: Sequence[str] | None = None, batch_size: int = 64
    ) -> list[BertScores | None]:
        """
        Return the scores of each of *pairs*, rounded to ``DIGITS``.

        With *idf_references* word pieces weigh by their idf among these texts; without, all the same.
        1 for two blank texts, 0 where one is blank. None where every word piece of a text weighs nothing.
        """
        weighing = "" if idf_references is None else _digest(idf_references)
        clean = [
            (encodable(candidate).strip(), encodable(reference).strip()) for candidate, reference in pairs
        ]
        known = {pair: self._kept.get((weighing, *pair), ...) for pair in clean}
        missing = [pair for pair, scores in known.items() if scores is ...]
        weights = self._weights(None if not missing else idf_references)
        found = self._compare([pair for pair in missing if all(pair)], weights, batch_size)
        found |= {pair: _blank(pair) for pair in missing if not all(pair)}
        if len(self._kept) + len(found) > KEPT_PAIRS:
            self._kept.clear()
        self._kept.update({(weighing, *pair): scores for pair, scores in found.items()})
        return [found[pair] if pair in found else known[pair] for pair in clean]  # type: ignore[misc]

    def _weights(self, references: Sequence[str] | None) -> Mapping[int, float]:
        if references is not None:
            # Blank ones hold nothing to weigh, and bert-score can't read them with transformers 5.
            texts = [encodable(text) for text in references if text.strip()]
            weights: Mapping[int, float] = self._parts.get_idf_dict(texts, self._tokenizer, nthreads=0)
            return weights
        flat: defaultdict[int, float] = defaultdict(lambda: 1.0)
        flat[self._tokenizer.sep_token_id] = flat[self._tokenizer.cls_token_id] = 0.0
        return flat

    def _compare(
        self, pairs: Sequence[Pair], weights: Mapping[int, float], batch_size: int
    ) -> dict[Pair, BertScores | None]:
        texts = dict.fromkeys(text for pair in pairs for text in pair)
        pieces: dict[str, list[int]] = {
            text: self._parts.sent_encode(self._tokenizer, text) for text in texts
        }

        def longest_first(pair: Pair) -> tuple[int, Pair]:
            return -max(len(pieces[text]) for text in pair), pair

        scores: dict[Pair, BertScores | None] = {}
        embedded: dict[str, Any] = {}
        for block in _slices(sorted(pairs, key=longest_first), BLOCK):
            wanted = dict.fromkeys(text for pair in block for text in pair)
            self._embed_texts(
                {text: pieces[text] for text in wanted if text not in embedded}, embedded, batch_size
            )
            for batch in _slices(block, batch_size):
                scores |= zip(batch, self._match(batch, pieces, weights, embedded), strict=True)
            if sum(embedding.numel() for embedding in embedded.values()) > HELD_FLOATS:
                embedded.clear()
        return scores

    def _embed_texts(
        self, pieces: Mapping[str, list[int]], embedded: dict[str, Any], batch_size: int
    ) -> None:
        order = sorted(pieces, key=lambda text: (-len(pieces[text]), text))
        for batch in _slices(order, batch_size):
            padded, lengths, mask = self._parts.padding(
                [pieces[text] for text in batch], self._tokenizer.pad_token_id
            )
            vectors = self._parts.bert_encode(
                self._model, padded.to(self._device), attention_mask=mask.to(self._device)
            ).cpu()
            for text, vector, length in zip(batch, vectors, lengths.tolist(), strict=True):
                embedded[text] = vector[:length].clone()  # not a view that keeps the padding alive

    def _match(
        self,
        batch: Sequence[Pair],
        pieces: Mapping[str, list[int]],
        weights: Mapping[int, float],
        embedded: Mapping[str, Any],
    ) -> Iterator[BertScores | None]:
        torch = self._torch
        pad = torch.nn.utils.rnn.pad_sequence
        sides = []
        for texts in ([reference for _, reference in batch], [candidate for candidate, _ in batch]):
            weighed = [torch.tensor([weights[piece] for piece in pieces[text]]) for text in texts]
            lengths = torch.tensor([len(one) for one in weighed])
            # Padded with something of a length other than 0, since vectors are divided by theirs.
            vectors = pad([embedded[text] for text in texts], batch_first=True, padding_value=2.0)
            mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
            sides += [one.to(self._device) for one in (vectors, mask, pad(weighed, batch_first=True).float())]
        with torch.no_grad():
            columns = [one.cpu().tolist() for one in self._parts.greedy_cos_idf(*sides)]
        for precision, recall, f1 in zip(*columns, strict=True):
            if math.isnan(precision) or math.isnan(recall):
                yield None
            else:
                yield BertScores(*(round(number, DIGITS) for number in (precision, recall, f1)))


def _blank(pair: Pair) -> BertScores:
    same = float(not any(pair))
    return BertScores(same, same, same)


def _digest(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _slices(some: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(some), size):
        yield some[start : start + size]
