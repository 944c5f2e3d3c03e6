"""
The published program's rule for an invalid question, and its rewriting, given any resolver's clusters.

From Li et al., "Ditch the Gold Standard" (ACL 2022), program princeton-nlp/EvalConvQA, so that its
figures can be compared with ours. Written afresh from the rule. We differ where the program's verdict
is an accident of the machine: of a cluster's naming mentions it takes an arbitrary one, which changes
with the hash seed, and we take the first in document order, as the paper says; and a ``>`` inside the
question doesn't move the place where the question begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from replay.core.drift_evidence import Drift, MentionDrift, MentionState, Reading
from replay.coreference.reading.mentions import is_possessive, kind_of
from replay.coreference.reading.readings import question_mention
from replay.coreference.reading.resolver import CharSpan, Cluster, Document
from replay.coreference.reading.rewriting import at_sentence_start, capitalize, tidy, with_possessive
from replay.coreference.reading.verdict import pair_readings
from replay.coreference.reading.words import tokens, word_f1, word_set

MODE = "evalconvqa"
VERSION = 2
"""Raised whenever the same clusters could get another verdict."""
Match = Literal["f1", "em"]
"""What is compared: the antecedents' words, or the whole questions with their mentions replaced."""

PRONOUNS = word_set(
    """
    i me my mine myself idem us we our ours ourself ourselves you your yours yourself yourselves ye thou
    thee thy thine thyself he him his himself she her hers herself it its itself they them their theirs
    themself themselves theirself theirselves this that these those yon yonder who whoever whom whomever
    whomso whomsoever whose whosesoever whosever whoso whosoever what whatever whatnot whatsoever which
    whichever whichsoever whether whence where whereby wherefrom wherein whereinto whereof whereon
    wheresoever whereto whereunto wherever wherewith wherewithal all another any anybody anyone anything
    as aught both each either enough everybody everyone everything few many most naught neither nobody
    none nothing nought one other others ought several some somebody someone something somewhat such
    suchlike there
    """
) | {"each other", "no one", "one another"}
"""What the rule counts as a pronoun: a mention that is one of these, whatever its case, names nothing."""
MOST_REPLACEMENTS = 200
"""In one question: clusters whose names hold one another's mentions multiply."""
_ARTICLES = word_set("the this that these those a an")


def compare(
    gold_document: Document,
    gold_clusters: Sequence[Cluster],
    predicted_document: Document,
    predicted_clusters: Sequence[Cluster],
    *,
    match: Match = "f1",
    skip_entity: bool = True,
) -> Drift:
    """
    Return the verdict of the published rule on one question in two histories.

    On each side the clusters with a mention in the question are kept, ordered by their last mention.
    With *skip_entity* one whose last mention is a capitalised entity is dropped, as in the published runs.
    Each cluster left stands for its first mention that is no pronoun, else for its first mention. Every
    cluster of the predicted side is compared with its best partner on the gold side, by F1 of lower-case
    words. The question is valid if and only if all have F1 > 0, and both sides have the same number
    of clusters; nothing on either side is valid.

    With *match* "em" the question is valid instead if and only if ``rewrite_from_clusters`` makes the
    same of it on both sides; the mentions are paired all the same, and *skip_entity* changes no verdict.

    The rule's quirks, kept on purpose:

    - Articles count: "the dog" and "the cat" agree.
    - "He" or "This" at the start of a sentence is capitalised, so it counts as an entity and its
      cluster is dropped; so does a bare lower-case "this" or "that", whose every word is an article.
    - Entities that change places pass, since a partner is looked for in any cluster.
    - Clusters on one side only, or a different number of them, make the question invalid whatever
      they say.

    ``mentions`` pairs the clusters as the rule does where both sides have equally many, and by the
    place of their last mention where they don't; a gold cluster without partner is ``lost`` and a
    predicted one ``open``. ``overlap`` is the F1 of the pair. Where the numbers differ the rule sets
    every F1 to 0, so a question can be invalid though no pair has drifted.
    """
    gold = _question_readings(gold_document, gold_clusters, skip_entity)
    predicted = _question_readings(predicted_document, predicted_clusters, skip_entity)
    if len(gold) == len(predicted):
        mentions = tuple(
            _mention_drift(replace(max(gold, key=lambda g: _overlap(g, p)), mention=p.mention), p)
            for p in predicted
        )
        valid = all(m.overlap > 0 for m in mentions)
    else:
        # Of clusters that end in the same span the first counts.
        found = (_mention_drift(*pair) for pair in pair_readings(gold[::-1], predicted[::-1]))
        mentions = tuple(sorted(found, key=lambda m: (m.gold.mention.start, m.gold.mention.end)))
        valid = False
    if match == "em":
        resolved = rewrite_from_clusters(gold_document, gold_clusters)
        valid = resolved == rewrite_from_clusters(predicted_document, predicted_clusters)
    return Drift(valid=valid, mentions=mentions, mode=MODE)


def rewrite_from_clusters(document: Document, clusters: Sequence[Cluster]) -> str:
    """
    Return the document's question, each mention replaced by its cluster's name, as in the program.

    A cluster is named by its first mention that has a word which is no pronoun. Its other mentions give way
    to that one, with the mentions inside it replaced likewise, unless they hold its words already ("the
    singer Frank Zappa" for "Zappa" stays). A mention inside one that was replaced goes with it.

    Unlike the program's output, the text is not tokenised and possessives are English ("Ann Lee's voice");
    of mentions that begin alike the longest is replaced, where the program takes any; a cluster of pronouns
    alone changes nothing, where the program puts its first one for the others ("He" for "his").
    """
    text = document.text()
    names: dict[CharSpan, CharSpan] = {}
    for cluster in clusters:
        spans = sorted(span for span in cluster if 0 <= span.start < span.end <= len(text))
        naming = next((span for span in spans if set(_lower_tokens(_of(text, span))) - PRONOUNS), None)
        if naming is None:
            continue
        name = " ".join(_lower_tokens(_of(text, naming)))
        for span in spans:
            if span != naming and name not in " ".join(_lower_tokens(_of(text, span))):
                names.setdefault(span, naming)
    question_start = len(document.context())
    question = CharSpan(start=question_start, end=len(text))
    return _with_names(text, question, names, question_start, iter(range(MOST_REPLACEMENTS)))


def _with_names(
    text: str, whole: CharSpan, names: Mapping[CharSpan, CharSpan], question_start: int, left: Iterator[int]
) -> str:
    """Return *whole* of *text* with up to *left* outermost spans of *names* replaced."""
    pieces: list[str] = []
    done = whole.start
    for span in sorted(names, key=lambda span: (span.start, -span.end)):
        if span.start < done or span.end > whole.end or next(left, None) is None:
            continue
        # Two clusters can name each other ("her song" of "her", "her" of "her song"): each span once.
        rest = {other: naming for other, naming in names.items() if other != span}
        name = tidy(_with_names(text, names[span], rest, question_start, left))
        if is_possessive(_of(text, span), text[span.end : whole.end]):
            name = with_possessive(name, plural=kind_of(_of(text, span)) == "they")
        place = span.start - question_start
        if place >= 0 and at_sentence_start(text[question_start:], place):
            name = capitalize(name)
        pieces += [text[done : span.start], name]
        done = span.end
    return "".join([*pieces, text[done : whole.end]])


def _question_readings(document: Document, clusters: Sequence[Cluster], skip_entity: bool) -> list[Reading]:
    """Return a reading of the last mention of each cluster that ends in the question, by its name."""
    text, question_start = document.text(), len(document.context())
    kept: list[tuple[CharSpan, CharSpan]] = []
    for cluster in clusters:
        spans = sorted(span for span in cluster if 0 <= span.start < span.end <= len(text))
        if not spans or spans[-1].start < question_start:
            continue
        if not (skip_entity and _is_entity(_of(text, spans[-1]))):
            kept.append((spans[-1], _naming(text, spans) or spans[0]))
    return [
        Reading(mention=question_mention(document, last), antecedent=_of(text, named), source="cluster")
        for last, named in sorted(kept)
    ]


def _of(text: str, span: CharSpan) -> str:
    return text[span.start : span.end]


def _naming(text: str, spans: Sequence[CharSpan]) -> CharSpan | None:
    """Return the first of *spans* that is no pronoun."""
    return next((span for span in spans if " ".join(_lower_tokens(_of(text, span))) not in PRONOUNS), None)


@lru_cache(maxsize=4096)
def _tokens_of(text: str) -> tuple[str, ...]:
    """Return the tokens of *text*: the rule counts punctuation and "'s" as words of their own."""
    return tuple(token.text for token in tokens(text))


def _lower_tokens(text: str) -> list[str]:
    return [word.lower() for word in _tokens_of(text)]


def _is_entity(text: str) -> bool:
    return all(word[0].isupper() for word in _tokens_of(text) if word not in _ARTICLES)


def _overlap(gold: Reading, predicted: Reading) -> float:
    return word_f1(_lower_tokens(gold.antecedent or ""), _lower_tokens(predicted.antecedent or ""))


def _mention_drift(gold: Reading, predicted: Reading) -> MentionDrift:
    overlap = _overlap(gold, predicted)
    state: MentionState = "same" if overlap > 0 else "drifted"
    if gold.antecedent is None or predicted.antecedent is None:
        state = "open" if gold.antecedent is None else "lost"
    return MentionDrift(gold=gold, predicted=predicted, state=state, overlap=overlap)
