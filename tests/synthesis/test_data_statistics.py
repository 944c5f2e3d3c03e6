"""Counts and shares of a data set, and how they are shown."""

from __future__ import annotations

from collections import Counter

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.drift_evidence import Mention, Reading
from replay.core.errors import PluginError
from replay.coreference.reading.resolver import Document
from replay.report.markdown import document_markdown
from replay.synthesis import data_statistics as room
from replay.synthesis.data_document import data_document, write_card
from replay.synthesis.data_statistics import Proportion, data_statistics


def turn(number: str, question: str, standalone: str, answer: str, *passages: str) -> Turn:
    return Turn(
        id=number, question=question, standalone=standalone, gold_answers=(answer,), gold_passages=passages
    )


FOUNDED = "Who founded the band in London?"
BAND = Conversation(
    id="band",
    passages=(Passage(id="p1", text="..."), Passage(id="p2", text="...")),
    turns=(
        turn("1", FOUNDED, FOUNDED, "Ada and Bo founded it.", "p1"),
        turn("2", "Did she sing?", "Did Ada sing?", "Yes, she did.", "p1"),
        turn("3", "Why?", "Why did Ada sing?", "CANNOTANSWER"),
        turn("4", "Is London a city?", "Is London a city?", "It is.", "p2"),
        turn("5", "Did she sing?", "Did Ada sing?", "Yes, she did."),
    ),
)


class Everything:
    """A resolver that finds something in every question with a mention."""

    signature = "everything"

    def read(self, documents):
        mention = Mention(start=0, end=3, text="she", kind="she")
        return [
            (Reading(mention=mention, antecedent="Ada" if "she" in document.question else None),)
            for document in documents
        ]

    def resolve(self, documents: list[Document]):
        raise AssertionError("it gives readings")


def test_the_figures_of_a_conversation():
    found = data_statistics("d", [BAND])
    assert (found.conversations, found.turns, found.passages) == (1, 5, 2)
    assert found.question_words == {"who": 1, "why": 1, "yes/no": 3}
    assert found.yes_no == Proportion(count=3, of=5)
    assert found.answered_yes_no == Proportion(count=2, of=4)
    assert found.anaphora == Proportion(count=2, of=4)
    assert found.references["pronoun"] == Proportion(count=2, of=4)
    assert found.ellipsis == Proportion(count=1, of=4)
    assert found.leaning == Proportion(count=3, of=4)
    assert found.leaning_by == "by the data's standalone questions"
    assert found.unanswerable == Proportion(count=1, of=5)
    assert found.without_answer == Proportion(count=0, of=5)
    assert found.topic_shifts == Proportion(count=0, of=1)
    assert found.duplicates == Proportion(count=1, of=5)
    assert (found.question_length.mean, found.question_length.median, found.question_length.longest) == (
        3.4,
        3,
        6,
    )
    assert [row.turns for row in found.depths] == [1, 1, 1, 1, 1]
    assert found.depths[0].anaphora.share is None


def without_standalone() -> Conversation:
    turns = tuple(
        Turn(id=turn.id, question=turn.question, gold_answers=turn.gold_answers) for turn in BAND.turns
    )
    return Conversation(id="band", turns=turns)


def test_without_standalone_questions_a_resolver_says_what_leans():
    found = data_statistics("d", [without_standalone()], resolver=Everything())
    assert found.leaning == Proportion(count=2, of=4)
    assert found.leaning_by == "by everything, which read all 4 follow-ups"
    assert found.topic_shifts is None


def test_a_sample_is_drawn_by_its_seed():
    data = [without_standalone()]
    shares = {
        data_statistics("d", data, resolver=Everything(), sample=2, seed=seed).leaning for seed in range(9)
    }
    assert {share.count for share in shares if share} == {0, 1, 2}
    found = data_statistics("d", data, resolver=Everything(), sample=2, seed=4)
    assert found == data_statistics("d", data, resolver=Everything(), sample=2, seed=4)
    assert found.leaning_by == "by everything, which read 2 of 4 follow-ups, drawn with seed 4"


def test_without_either_leaning_is_unknown():
    found = data_statistics("d", [without_standalone()])
    assert found.leaning is None
    assert found.leaning_by.startswith("not read")
    assert "| follow-ups that lean on nothing | - |" in document_markdown(data_document([found]))


def test_without_the_extra_duplicates_are_unknown_and_it_is_said(monkeypatch):
    def missing(*_: object, **__: object) -> None:
        raise PluginError("datasketch is missing")

    monkeypatch.setattr(room, "duplicate_turns", missing)
    found = data_statistics("d", [BAND])
    assert found.duplicates is None
    assert found.notes == ("duplicates are not counted: datasketch is missing",)


def test_no_conversations_have_no_shares():
    found = data_statistics("d", [])
    assert (found.turns, found.yes_no.share, found.depths) == (0, None, ())
    document_markdown(data_document([found]))


def test_json_holds_shares_beside_counts():
    found = data_statistics("d", [BAND]).to_json()
    assert found["leaning"] == {"count": 3, "of": 4, "share": 0.75}
    assert found["depths"][1]["anaphora"] == {"count": 1, "of": 1, "share": 1.0}


def test_two_data_sets_stand_side_by_side():
    text = document_markdown(data_document([data_statistics("a", [BAND]), data_statistics("b", [])]))
    assert "| Size | `a` | `b` |" in text
    assert "| turns | 5 | 0 |" in text
    assert "| follow-ups that lean on nothing | 25.0 % of 4 | - |" in text


def test_a_card_says_what_is_in_and_what_was_left_out(tmp_path):
    path = tmp_path / "talks.card.md"

    def card() -> str:
        write_card(
            path,
            [BAND],
            Counter({"passage too thin": 7, "asked before": 9}),
            {"seed": 3, "turns": 5},
            sources=["a.md", "b.md"],
            signature="abc",
            references=Counter({"pronoun found": 2}),
            unread=["c.md: is empty"],
            licence="CC BY 4.0",
        )
        return path.read_text()

    text = card()
    assert text.startswith("### talks: 1 conversations from 2 documents\n")
    for line in (
        '- `settings`: `{"seed": 3, "turns": 5}`',
        "- `signature`: `abc`",
        "CC BY 4.0",
        "| asked before | 9 |\n| passage too thin | 7 |",
        "| pronoun found | 2 |",
        "- a.md\n- b.md",
        "- c.md: is empty",
        "  - question: Why?\n  - means: Why did Ada sing?\n  - answer: CANNOTANSWER",
    ):
        assert line in text, line
    assert card() == text


def test_the_figure_is_the_same_for_the_same_figures(tmp_path):
    from replay.report.drawing import save, style
    from replay.synthesis.data_document import data_figure

    data = [data_statistics("one", [BAND]), data_statistics("two", [without_standalone()])]
    files = []
    for name in ("a.svg", "b.svg"):
        with style():
            figure = data_figure(data, "column")
        assert save(figure, tmp_path / name) == []
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
