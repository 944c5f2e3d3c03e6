"""
The published program's rule for an invalid question, and its rewriting, given any resolver's clusters.

From Li et al., "Ditch the Gold Standard" (ACL 2022), program princeton-nlp/EvalConvQA, so that its
figures can be compared with ours. Written afresh from the rule. We differ where the program's verdict
is an accident of the machine: of a cluster's naming mentions it takes an arbitrary one, which changes
with the hash seed, and we take the first in document order, as the paper says; and a ``>`` inside the
question doesn't move the place where the question begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replay.core.drift_evidence import Drift, Mention, MentionDrift, MentionState, Reading
from replay.coreference.clusters import question_mention
from replay.coreference.resolver import Cluster, Document, Span
from replay.coreference.rewriting import at_sentence_start, capitalized, tidy, with_possessive
from replay.coreference.words import tokens, word_f1, word_set

MODE = "evalconvqa"
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
_ARTICLES = word_set("the this that these those a an")


def compare(
    gold_document: Document,
    gold_clusters: Sequence[Cluster],
    predicted_document: Document,
    predicted_clusters: Sequence[Cluster],
    *,
    skip_entity: bool = True,
    match: Match = "f1",
) -> Drift:
    """
    The verdict of the published rule on one question in two histories.

    On each side the clusters with a mention in the question are kept, ordered by their last mention.
    With *skip_entity* a cluster whose last mention is a capitalised entity is dropped. Each cluster
    left stands for its first mention that is no pronoun, else for its first mention. Every cluster
    of the predicted side is compared with its best partner on the gold side, by F1 of lower-case
    words. The question is valid if and only if all have F1 > 0, and both sides have the same number
    of clusters; nothing on either side is valid.

    With *match* "em" the question is valid instead if and only if ``rewrite_from_clusters`` makes the
    same of it on both sides; the mentions are paired all the same.

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
    gold = _compared(gold_document, gold_clusters, skip_entity)
    predicted = _compared(predicted_document, predicted_clusters, skip_entity)
    if len(gold) != len(predicted):
        mentions, valid = _paired_by_place(gold, predicted), False
    else:
        mentions = tuple(
            _mention_drift(max(gold, key=lambda g: word_f1(g.words, p.words)), p, at=p.mention)
            for p in predicted
        )
        valid = all(m.overlap > 0 for m in mentions)
    if match == "em":
        resolved = rewrite_from_clusters(gold_document, gold_clusters)
        valid = resolved == rewrite_from_clusters(predicted_document, predicted_clusters)
    return Drift(valid=valid, mentions=mentions, mode=MODE)


def rewrite_from_clusters(document: Document, clusters: Sequence[Cluster]) -> str:
    """
    The document's question with every mention replaced by its cluster's first naming mention.

    Unlike the published program's output, the text is not tokenised and possessives are English
    ("Ann Lee's voice"). A mention that already says the same, or lies inside one that was replaced,
    stays. A cluster that names nothing changes nothing.
    """
    text, question_start = document.text(), len(document.context())
    replacements: dict[Span, str] = {}
    for cluster in clusters:
        spans = sorted(span for span in cluster if span.start < span.end)
        naming = next((span for span in spans if not _is_pronoun(text, span)), None)
        if naming is None:
            continue
        name = tidy(text[naming.start : naming.end])
        for span in spans:
            if span != naming and question_start <= span.start and span.end <= len(text) and name:
                replacements.setdefault(span, name)
    pieces: list[str] = []
    done = question_start
    for span in sorted(replacements, key=lambda span: (span.start, -span.end)):
        if span.start < done:
            continue
        mention = question_mention(document, span)
        name = replacements[span]
        if mention.possessive:
            name = with_possessive(name, plural=mention.kind == "they")
        if at_sentence_start(document.question, mention.start):
            name = capitalized(name)
        pieces += [text[done : span.start], name]
        done = span.end
    return "".join([*pieces, text[done:]])


@dataclass(frozen=True, slots=True)
class _Compared:
    """A cluster with a mention in the question, as the rule sees it."""

    mention: Mention
    """Its last mention, in the question's offsets."""
    text: str
    """The mention that stands for it."""
    words: tuple[str, ...]


def _compared(document: Document, clusters: Sequence[Cluster], skip_entity: bool) -> list[_Compared]:
    text, question_start = document.text(), len(document.context())
    kept: list[tuple[Span, Span]] = []
    for cluster in clusters:
        spans = sorted(span for span in cluster if 0 <= span.start < span.end <= len(text))
        if not spans or spans[-1].start < question_start:
            continue
        last = spans[-1]
        if skip_entity and _is_entity(_said(text, last)):
            continue
        kept.append((last, next((span for span in spans if not _is_pronoun(text, span)), spans[0])))
    return [
        _Compared(
            mention=question_mention(document, last),
            text=text[named.start : named.end],
            words=tuple(word.lower() for word in _said(text, named)),
        )
        for last, named in sorted(kept)
    ]


def _said(text: str, span: Span) -> tuple[str, ...]:
    """The tokens of *span*: the rule counts punctuation and "'s" as words of their own."""
    return tuple(token.text for token in tokens(text[span.start : span.end]))


def _is_pronoun(text: str, span: Span) -> bool:
    return " ".join(_said(text, span)).lower() in PRONOUNS


def _is_entity(said: Sequence[str]) -> bool:
    return all(word[0].isupper() for word in said if word not in _ARTICLES)


def _reading(compared: _Compared) -> Reading:
    return Reading(mention=compared.mention, antecedent=compared.text, source="cluster")


def _mention_drift(gold: _Compared, predicted: _Compared, *, at: Mention) -> MentionDrift:
    overlap = word_f1(gold.words, predicted.words)
    state: MentionState = "same" if overlap > 0 else "drifted"
    return MentionDrift(
        gold=Reading(mention=at, antecedent=gold.text, source="cluster"),
        predicted=_reading(predicted),
        state=state,
        overlap=overlap,
    )


def _paired_by_place(gold: Sequence[_Compared], predicted: Sequence[_Compared]) -> tuple[MentionDrift, ...]:
    gold_at = {(g.mention.start, g.mention.end): g for g in reversed(gold)}
    predicted_at = {(p.mention.start, p.mention.end): p for p in reversed(predicted)}
    paired: list[MentionDrift] = []
    for place in sorted(gold_at | predicted_at):
        g, p = gold_at.get(place), predicted_at.get(place)
        if g is not None and p is not None:
            paired.append(_mention_drift(g, p, at=g.mention))
        elif g is not None:
            unread = Reading(mention=g.mention, antecedent=None)
            paired.append(MentionDrift(gold=_reading(g), predicted=unread, state="lost", overlap=0.0))
        elif p is not None:
            unread = Reading(mention=p.mention, antecedent=None)
            paired.append(MentionDrift(gold=unread, predicted=_reading(p), state="open", overlap=0.0))
    return tuple(paired)
