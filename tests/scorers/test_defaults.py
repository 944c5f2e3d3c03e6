"""What a scorer or a judge does that was told nothing: every default moves numbers, costs or waits."""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path

import pytest

from replay.scorers.answer_text import DECLINING_PATTERNS
from replay.scorers.bertscore import bertscore, coverage, sentences
from replay.scorers.bertscore_model import BertModel
from replay.scorers.bleu import Bleu4, bleu1, sentence_bleu, sentence_counts
from replay.scorers.fuzzy import fuzzy
from replay.scorers.judges.claims import ClaimsJudge
from replay.scorers.judges.criteria import JudgeCriterion
from replay.scorers.judges.factual import FactualJudge
from replay.scorers.judges.geval import GEvalJudge
from replay.scorers.judges.judge import PlannedAsk
from replay.scorers.judges.panel import Panel
from replay.scorers.judges.yes_no import CorrectnessJudge
from replay.scorers.leave_one_out import coqa_em, coqa_f1, heq_d, heq_q, quac_f1
from replay.scorers.neural_extra import MINILM
from replay.scorers.operational import completion_tokens, cost, latency, prompt_tokens, ttft
from replay.scorers.reference_score import ReferenceScore
from replay.scorers.retrieval import (
    hit_rate_scorer,
    modified_precision_scorer,
    mrr_scorer,
    ndcg_linear_scorer,
    ndcg_scorer,
    precision_at_scorer,
)
from replay.scorers.similarity import SentenceModel, similarity
from replay.scorers.unanswerable import UnanswerableDetection, unanswerable_f1, unanswerable_share
from replay.scorers.word_overlap import em, f1, lcs_f, rouge1, rouge2, rouge_l, runs_f1

ANSWERS = {"answerable_only": False, "declining": DECLINING_PATTERNS}
WORDS = {"tokens": "plain", "stemmer": False, **ANSWERS}
MODEL = {"batch_size": 64, "device": None, "folder": Path(), **ANSWERS}
BERT = {"model": "roberta-large", "num_layers": None, "rescale": False, "lang": "en", **MODEL}
PROMPTS = {"prompt": None, "verification_prompt": None, "retry_prompt": None, "steps_prompt": None}


@pytest.mark.parametrize(
    ("made", "defaults"),
    [
        *((factory, ANSWERS) for factory in (em, f1, sentence_bleu)),
        *((factory, {**ANSWERS, "declining": ()}) for factory in (coqa_em, coqa_f1)),
        (bleu1, {"tokens": "plain", **ANSWERS}),
        *((factory, WORDS) for factory in (rouge1, rouge2)),
        (rouge_l, {"beta": 1.0, **WORDS}),
        (lcs_f, {"beta": 1.0, "tokens": "plain", "stemmer": False}),
        (runs_f1, {"tokens": "plain", "stemmer": False}),
        (
            Bleu4,
            {"tokenize": "13a", "lowercase": False, "smooth": "exp", "effective_order": False, **ANSWERS},
        ),
        (sentence_counts, {"lowercase": False}),
        (fuzzy, {"threshold": 0.8, **ANSWERS}),
        *((factory, {"min_human_f1": 0.4, **ANSWERS}) for factory in (quac_f1, heq_q, heq_d)),
        *(
            (factory, {"declining": DECLINING_PATTERNS})
            for factory in (unanswerable_f1, unanswerable_share, UnanswerableDetection)
        ),
        *(
            (factory, {"quantile": None})
            for factory in (latency, ttft, prompt_tokens, completion_tokens, cost)
        ),
        *((factory, {"k": 5}) for factory in (hit_rate_scorer, precision_at_scorer)),
        (ndcg_scorer, {"k": 10}),
        *((f, {"k": None}) for f in (mrr_scorer, ndcg_linear_scorer, modified_precision_scorer)),
        (bertscore, {"part": "f1", "idf": False, **BERT}),
        (coverage, {"threshold": 0.85, **BERT}),
        (sentences, {"language": "en"}),
        (similarity, {"model": MINILM, **MODEL}),
        (BertModel.score, {"idf_references": None, "batch_size": 64}),
        (SentenceModel.cosines, {"batch_size": 64}),
        (ReferenceScore, {"all_references": False, "unit": "share", "needs": (), **ANSWERS}),
        (CorrectnessJudge, {}),
        (FactualJudge, {"threshold": 0.8, "ask": "always", "declining": DECLINING_PATTERNS}),
        (ClaimsJudge, {"response_format": "none", "tries": 3}),
        (
            GEvalJudge,
            {"level": "turn", "criteria": None, "criteria_file": None, "samples": 20, "min_samples": None},
        ),
        (JudgeCriterion, {"scale": (1, 5), "steps": (), "needs_fact": False}),
        (PlannedAsk, {"sample": 0, "certain": True, "once": False, "after": None}),
        (Panel, {"repeats": 1, "concurrency": 4, "cache": None}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nothing_said_is_the_documented_default(made, defaults):
    found = {
        name: parameter.default
        for name, parameter in signature(made).parameters.items()
        if parameter.default is not Parameter.empty and repr(parameter.default) != "<factory>"
    }
    # A prompt that is left out is the shipped one, for every judge alike.
    if len(found) == len(signature(made).parameters):
        made()  # and can be made of nothing said
    assert {name: value for name, value in found.items() if PROMPTS.get(name, ...) is ...} == defaults
    assert all(found[name] is None for name in PROMPTS.keys() & found.keys())
