"""What a question leans on in a history of its own, and whether it is at risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from replay.core.conversation import Conversation, Turn
from replay.coreference.leaning import QuestionLeaning, find_leaning
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.resolver import CharSpan, Cluster, Document


def talk(*texts: str, title: str = "") -> Conversation:
    pairs = zip(texts[::2], texts[1::2], strict=True)
    turns = tuple(Turn(id=str(n), question=q, gold_answers=(a,)) for n, (q, a) in enumerate(pairs))
    return Conversation(id="a", title=title, turns=turns)


def last_of(*texts: str, title: str = "", **settings: float) -> QuestionLeaning:
    return find_leaning(talk(*texts, title=title), EmbeddedResolver(), **settings)[-1]


def test_what_only_an_answer_says_is_at_risk() -> None:
    one = last_of("Who wrote Stone Garden?", "Mira Okafor wrote it.", "When was she born?", "In 1961.")
    assert (one.leans_on, one.mention, one.words, one.turns_back) == ("answer", "she", "Mira Okafor", 1)
    assert one.at_risk
    assert one.probability is not None
    assert one.probability > 0.5


def test_the_answer_may_be_further_back() -> None:
    one = last_of(
        "Who wrote Stone Garden?", "Mira Okafor wrote it.", "Is it long?", "Yes.", "When was she born?", ""
    )  # fmt: skip
    assert (one.words, one.turns_back) == ("Mira Okafor", 2)


@pytest.mark.parametrize(
    ("texts", "leans_on"),
    [
        (("Where was Mira Okafor born?", "Mira Okafor? In Lagos.", "When was she born?", ""), "question"),
        (("Who wrote Stone Garden?", "Mira did.", "Do you sell garden lamps?", ""), "nothing"),
        (("Hello there!", "Hello! How can I help?", "How long did she live?", ""), "background"),
    ],
)  # fmt: skip
def test_what_the_user_says_or_the_data_is_at_no_risk(texts, leans_on) -> None:
    one = last_of(*texts, title="Mira Okafor")
    assert (one.leans_on, one.probability, one.at_risk) == (leans_on, None, False)


def test_the_threshold_decides() -> None:
    texts = ("Who wrote Stone Garden?", "Mira Okafor wrote it.", "When was she born?", "In 1961.")
    assert not last_of(*texts, threshold=0.999).at_risk


def test_questions_that_cannot_be_read_are_told() -> None:
    one = last_of(
        "Wer hat das Buch geschrieben?", "Mira.", "Wo ist sie denn damals geboren worden?", "In Lagos."
    )
    assert one.leans_on is None
    assert "German" in (one.not_judged or "")


@dataclass(frozen=True)
class Clusters:
    """Links "she" to "Mira" wherever both stand."""

    signature: str = "clusters"

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        return [[_cluster(document.text())] if "Mira" in document.text() else [] for document in documents]


def _cluster(text: str) -> Cluster:
    return tuple(
        CharSpan(start=text.index(one), end=text.index(one) + len(one))
        for one in ("Mira", "she")
        if one in text
    )


def test_a_resolver_without_probabilities_is_judged_by_its_readings() -> None:
    found = find_leaning(talk("Who wrote it?", "Mira did.", "When was she born?", "1961."), Clusters())
    assert (found[1].leans_on, found[1].words, found[1].turns_back) == ("answer", "Mira", 1)
    assert (found[1].probability, found[1].at_risk) == (1.0, True)
