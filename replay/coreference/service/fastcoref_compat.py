"""
All that has to be known about the fastcoref library to run it: what it breaks on, what it leaves behind.

Seen with fastcoref 2.1.6, transformers 4.57.6 and 5.23.0, torch 2.13. Nobody else imports fastcoref.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Literal

from replay.coreference.service.model_files import quiet_transformers

ModelName = Literal["f-coref", "lingmess"]
WordSpan = tuple[int, int]
"""Numbers of words, end exclusive."""


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
