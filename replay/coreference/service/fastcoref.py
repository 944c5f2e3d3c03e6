"""
F-coref and LingMess, the large coreference models, through the fastcoref library.

Otmazgin et al., *F-coref* (AACL 2022) and *LingMess* (EACL 2023). Only clusters come out; what the
question's mentions refer to is derived from them. Needs ``pip install "convreplay[neural]"`` and the
weights, from the Hugging Face hub or a local directory; see ``docs/large-models.md``.

Two things differ from calling the library. A document's clusters don't depend on what is resolved
beside it, and a document too long for the model loses the oldest of what was said, never its
question, title or section; the library leaves such a document out.

The functions from ``construct`` on hold all that has to be known about the library to run it: what it breaks
on, what it leaves behind. Seen with fastcoref 2.1.6, transformers 4.57.6 and 5.23.0, torch 2.13.
"""

from __future__ import annotations

import json
import logging
import math
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Literal

from replay.core.neural_models import fingerprint, library_version, loading, quiet_transformers
from replay.coreference.reading.resolver import QUESTION_MARK, CharSpan, Cluster, Document

ModelName = Literal["f-coref", "lingmess"]
WordSpan = tuple[int, int]
"""Numbers of words, end exclusive."""

REVISION = 1
"""Counts changes of this file that can change a result."""
HUB_NAMES: dict[ModelName, str] = {
    "f-coref": "biu-nlp/f-coref",
    "lingmess": "biu-nlp/lingmess-coref",
}
TOKENS_IN_BATCH_ON_GPU = 10_000
"""The library's own default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FastcorefResolver:
    """A resolver on the fastcoref library; imported and loaded with the first ``resolve``."""

    worth_caching: ClassVar[bool] = True
    """A document costs 0.2 s on one core, so gold-side results are kept on disk."""

    model: ModelName = "f-coref"
    """Which of the two models."""
    path: Path | None = None
    """A local directory with the model's config, tokenizer and weights, instead of the hub."""
    device: str | None = None
    """As torch has it, ``cpu`` or ``cuda:1``; by default a GPU where there is one."""
    max_document_tokens: int | None = None
    """Longer documents are cut, in the model's tokens; by default only what the model can't take is
    (4,096 for LingMess). Time and memory grow with the square."""
    max_tokens_in_batch: int | None = None
    """Documents resolved at once, in tokens with padding; by default one document on a CPU, where
    batches bring nothing, and 10,000 tokens on a GPU."""

    def __post_init__(self) -> None:
        """
        Raises:
            ResolverError: fastcoref is not installed.
            ValueError: *path* is no directory of such a model, or a number is not positive.
        """
        library_version("fastcoref")
        for name in ("max_document_tokens", "max_tokens_in_batch"):
            number = getattr(self, name)
            if number is not None and number < 16:
                raise ValueError(f"{name} is {number}; it has to be 16 or more")
        if self.path is not None:
            _check_directory(self.path, self.model)

    @property
    def signature(self) -> str:
        """Return version and model, as ``fastcoref-1(2.1.6,f-coref)``; of a local folder also its hash."""
        parts = [library_version("fastcoref"), self.model]
        if self.path is not None:
            parts.append(f"{self.path.name}@{fingerprint(self.path)}")
        if self.max_document_tokens is not None:
            parts.append(f"tokens:{self.max_document_tokens}")
        return f"fastcoref-{REVISION}({','.join(parts)})"

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """
        Return the clusters of each document, ordered by their first span.

        Raises:
            ResolverError: library or weights are not to be had; says what to do.
        """
        built = _load(self.model, self.path, self.device)
        cuts = [_cut(document, built, self.max_document_tokens) for document in documents]
        found: list[list[Cluster]] = [[] for _ in documents]
        for batch in self._batches(built, [cut.tokens for cut in cuts]):
            predicted = predict(built, [cuts[i].words for i in batch])
            for i, clusters in zip(batch, predicted, strict=True):
                found[i] = cuts[i].clusters(clusters)
        return found

    def _batches(self, built: Any, tokens: Sequence[int]) -> Iterator[list[int]]:
        """
        Yield the numbers of documents that go together: of one length in segments, and few enough.

        A document padded by a whole segment of nothing could be changed by it.
        """
        room = self.max_tokens_in_batch
        if room is None:
            room = 0 if built.device.type == "cpu" else TOKENS_IN_BATCH_ON_GPU
        segments = [math.ceil(count / built.max_segment_len) for count in tokens]
        batch: list[int] = []
        for i in sorted(range(len(tokens)), key=lambda i: tokens[i]):
            if batch and (segments[batch[0]] != segments[i] or (len(batch) + 1) * tokens[i] > room):
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """The words of a document that the model gets to see."""

    words: list[str]
    offsets: list[CharSpan]
    """Where each word stands in the document's full text."""
    gap: int
    """The number of the first word after the part that was left out; 0 for none."""
    tokens: int

    def clusters(self, found: Sequence[Sequence[WordSpan]]) -> list[Cluster]:
        """Return the clusters in characters: no span twice, none over the gap, no cluster of one span."""
        clusters = []
        for cluster in found:
            spans = {
                CharSpan(start=self.offsets[start].start, end=self.offsets[end - 1].end)
                for start, end in cluster
                if not start < self.gap < end
            }
            if len(spans) > 1:
                clusters.append(tuple(sorted(spans)))
        return sorted(clusters)


_HALF_PAIR = re.compile("[\ud800-\udfff]")


def _cut(document: Document, built: Any, max_tokens: int | None) -> _Cut:
    # Half a surrogate pair, as broken JSON brings it, can't be given to a tokenizer.
    tokens = built.nlp.make_doc(_HALF_PAIR.sub("\ufffd", document.text()))
    words = [token.text for token in tokens]
    offsets = [CharSpan(start=token.idx, end=token.idx + len(token.text)) for token in tokens]
    lengths = token_counts(built, words)
    special = built.tokenizer.num_special_tokens_to_add()
    total = sum(lengths) + special
    room = _room(total, built, max_tokens)
    if room >= total:
        return _Cut(words=words, offsets=offsets, gap=0, tokens=total)

    heading_end = _heading_length(document)
    gap = sum(offset.end <= heading_end for offset in offsets)
    left = room - special - sum(lengths[:gap])
    if left < room / 2:  # a heading as long as a document is no heading
        gap, left = 0, room - special
    newest = sum(length <= left for length in accumulate(reversed(lengths[gap:])))
    kept = [*range(gap), *range(len(words) - newest, len(words))]
    return _Cut(
        words=[words[i] for i in kept],
        offsets=[offsets[i] for i in kept],
        gap=gap,
        tokens=sum(lengths[i] for i in kept) + special,
    )


def _room(total: int, built: Any, max_tokens: int | None) -> int:
    """Return how many of a document's *total* tokens the model should see."""
    room: int = min(total, max_tokens or total, built.max_doc_len or total)
    segment: int = built.max_segment_len
    rest = room % segment
    if room > segment and rest < segment / 2 and reads_in_segments(built):
        # Segments are encoded apart from each other. A short last one, with hardly more than the
        # question in it, would be read without any context: rather lose as much of the oldest.
        return room - rest
    return room


def _heading_length(document: Document) -> int:
    """Return how far title and section reach in the document's text, in characters."""
    heading = replace(document, question="", turns=(), background="").context()
    return len(heading.removesuffix(f"{QUESTION_MARK} ").rstrip())


@lru_cache(maxsize=1)
def _load(model: ModelName, path: Path | None, device: str | None) -> Any:
    source = HUB_NAMES[model] if path is None else str(path)

    def advice(error: Exception, reason: str) -> str:
        if path is None and isinstance(error, OSError):
            return (
                f'the weights of "{source}" can\'t be loaded ({reason}); go online once to download them, '
                f"or copy that model's directory from the Hugging Face hub and name it as path: in "
                f"drift.settings"
            )
        return f'"{path}" can\'t be loaded as a {model} model: {reason}'

    with loading("fastcoref", advice):
        return construct(model, source, device)


def _check_directory(path: Path, model: ModelName) -> None:
    config = path / "config.json"
    if not config.is_file():
        raise ValueError(f'path: there is no model directory "{path}" (no config.json in it)')
    try:
        head = json.loads(config.read_text("utf-8")).get("coref_head")
    except (ValueError, AttributeError) as error:
        raise ValueError(f'path: "{config}" is no model configuration: {error}') from error
    if not isinstance(head, dict):
        raise ValueError(f'path: "{path}" is no {model} model: its config.json has no "coref_head"')


class MissingWeightsError(Exception):
    """The model's file lacks weights; the library would leave them random without a word."""


def construct(model: ModelName, source: str, device: str | None) -> Any:
    """
    Return the library's loaded model (``FCoref`` or ``LingMessCoref``); its imports take about 6 s.

    Raises:
        ImportError: fastcoref or something that it needs is not installed.
        MissingWeightsError: the weights don't belong to this model.
        OSError, ValueError, ...: whatever the libraries raise on files that are not there or not right.
    """
    with _surroundings_kept():
        import fastcoref
        import spacy
        from fastcoref.coref_models.modeling_fcoref import FCorefModel
        from fastcoref.coref_models.modeling_lingmess import LingMessModel

        small = model == "f-coref"
        network, factory = (
            (FCorefModel, fastcoref.FCoref) if small else (LingMessModel, fastcoref.LingMessCoref)
        )
        _fit(network)
        # Left to itself the library downloads en_core_web_sm, of which it uses only the tokenizer: this one.
        words = spacy.blank("en")
        words.max_length = 2**31
        with _missing_weights(network) as missing:
            built = factory(source, device=device, nlp=words, enable_progress_bar=False)
    if missing:
        raise MissingWeightsError(f"{len(missing)} weights are missing, {missing[0]} among them")
    built.model.eval()
    return built


def reads_in_segments(built: Any) -> bool:
    """Return whether long documents are encoded piece by piece (F-coref), not as a whole (LingMess)."""
    return type(built.collator).__name__ == "LeftOversCollator"


def token_counts(built: Any, words: Sequence[str]) -> list[int]:
    """Return the number of model tokens in each word; 0 for a word the model can't see, as a line break."""
    counts = [0] * len(words)
    with quiet_transformers():
        encoded = built.tokenizer(list(words), is_split_into_words=True, add_special_tokens=False)
    for word in encoded.word_ids(0):
        counts[word] += 1
    return counts


def predict(built: Any, documents: Sequence[Sequence[str]]) -> list[list[list[WordSpan]]]:
    """
    Return the clusters of each document, given as words; all documents are one batch.

    The library's own ``predict`` is not used: it drops documents above ``max_doc_len`` from its result,
    shows progress bars and needs 20 ms a call for a data set object.
    """
    from fastcoref.utilities.util import encode

    encoded = encode({"tokens": [list(words) for words in documents]}, built.tokenizer, None)
    examples = [
        {name: values[i] for name, values in encoded.items()} | {"text": "", "idx": i}
        for i in range(len(documents))
    ]
    with quiet_transformers():
        results = built._batch_inference(built.collator(examples))
    # A special token can be chosen as a mention; it has no place in the text and comes out as None.
    return [
        [
            [(int(span[0]), int(span[1])) for span in cluster if span is not None]
            for cluster in result.get_clusters(as_strings=False)
        ]
        for result in results
    ]


def _fit(network: Any) -> None:
    """Make a model class of 2022 fit the transformers of today; doing it again changes nothing."""
    if getattr(network, "_fitted_by_convreplay", False):
        return
    network._fitted_by_convreplay = True
    # transformers 5 asks for it after loading, and sets it only in its own post_init().
    network.all_tied_weights_keys = {}
    if network.__name__ == "LingMessModel":
        # Its base class is BERT's, which has it; Longformer, which it holds, refuses it then.
        network._supports_sdpa = False
    original = network._prune_topk_mentions

    @wraps(original)
    def without_padding(self: Any, mention_logits: Any, attention_mask: Any, *rest: Any) -> Any:
        # The library lets padding compete with words for the places of the best spans, so that a
        # document's clusters depend on the longest one beside it. Every real span is above -10,000.
        padding = attention_mask == 0
        masked = mention_logits.masked_fill(padding.unsqueeze(1) | padding.unsqueeze(2), -20000.0)
        return original(self, masked, attention_mask, *rest)

    network._prune_topk_mentions = without_padding


@contextmanager
def _missing_weights(network: Any) -> Iterator[list[str]]:
    """Collect the names of weights missing in the file; poolers and positions don't count."""
    missing: list[str] = []
    original = network.from_pretrained

    def noting(*arguments: Any, **settings: Any) -> Any:
        model, information = original(*arguments, **settings)
        needless = ("pooler", "position_ids", "token_type_ids")
        missing.extend(
            name for name in sorted(information["missing_keys"]) if not any(part in name for part in needless)
        )
        return model, information

    network.from_pretrained = noting
    try:
        yield missing
    finally:
        del network.from_pretrained


@contextmanager
def _surroundings_kept() -> Iterator[None]:
    """
    Undo what importing and constructing do to the whole process.

    The import sets the root logger to INFO and may add a handler, the constructor seeds all random
    generators with 42 and silences transformers.
    """
    import numpy
    import torch

    level, handlers = logging.root.level, list(logging.root.handlers)
    python_state, numpy_state = random.getstate(), numpy.random.get_state()
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())), quiet_transformers():
            yield
    finally:
        logging.root.setLevel(level)
        logging.root.handlers[:] = handlers
        random.setstate(python_state)
        numpy.random.set_state(numpy_state)
