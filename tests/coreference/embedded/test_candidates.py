import pytest

from replay.core.history import Exchange
from replay.coreference.embedded.candidates import gather, split_title
from replay.coreference.resolver import Document


def document(*said, **heading):
    turns = tuple(
        Exchange(question=question, answer=answer)
        for question, answer in zip(said[::2], said[1::2], strict=True)
    )
    return Document(question="And?", turns=turns, **heading)


def found(doc, kind):
    return [candidate.text for candidate in gather(doc).candidates if candidate.kind == kind]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Journey (band)", ("Journey", "band")),
        ("Thriller", ("Thriller", "")),
        ("(500) Days of Summer", ("(500) Days of Summer", "")),
        ("", ("", "")),
    ],
)
def test_split_title(title, expected):
    assert split_title(title) == expected


def test_the_title_comes_first_without_its_note():
    seen = gather(document("Who?", "Ann Lee.", title="Journey (band)"))

    assert (seen.topic.text, seen.topic.note) == ("Journey", "band")
    assert (seen.candidates[0].text, seen.candidates[0].kind) == ("Journey", "title")


def test_kinds_of_candidates():
    doc = document(
        "Who is Ann Lee?",
        'Ann Lee sang "Blue Moon" with Bob van der Ray in 1990, then she left her band for a long walk home.',
        section="1981-1982: Adventures in Recording",
    )

    assert found(doc, "section") == ["Adventures in Recording"]
    assert found(doc, "date") == ["1981-1982", "1990"]
    assert found(doc, "quote") == ["Blue Moon"]
    assert {"Bob van der Ray"} <= set(found(doc, "name"))
    assert "her band" in found(doc, "phrase")
    assert found(doc, "clause") == [doc.turns[0].answer.rstrip(".")]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("He met Ann Lee and Bob", ["Ann Lee", "Ann Lee and Bob", "Bob"]),
        ("Ann and Bob Hale left", ["Ann", "Ann and Bob Hale", "Bob Hale"]),
        ("The Tops & Ann Lee Moor left", ["The Tops & Ann Lee Moor"]),
        ("Ann and she left with the Tops", ["Ann", "the Tops"]),
    ],
)
def test_names_that_are_joined_are_candidates_together_and_alone(said, names):
    doc = document("", f"{said} for a long and quiet walk along the river")
    assert set(found(doc, "name")) | set(found(doc, "title")) == set(names)
    doc = document("", f"For a long and quiet walk along the river with so many others {said}")
    assert set(names) <= set(found(doc, "name")) | set(found(doc, "title"))


def test_a_short_answer_is_a_candidate_and_answers_that_say_nothing_hold_none():
    doc = document(
        "What was his job?", "office secretary", "And?", "CANNOTANSWER", "And?", "I don't know.", "A?", ""
    )

    assert "office secretary" in found(doc, "answer")
    assert all(o.turn == 0 or o.place == "question" for c in gather(doc).candidates for o in c.occurrences)


def test_equal_candidates_are_one_with_several_occurrences():
    doc = document("Who is Ann Lee?", "The singer Ann Lee.")
    (ann,) = [c for c in gather(doc).candidates if c.key == ("ann", "lee")]

    assert [(o.place, o.turn, o.before) for o in ann.occurrences] == [
        ("question", 0, "is"),
        ("answer", 0, "singer"),
    ]


def test_without_a_title_the_topic_is_what_is_said_most():
    doc = document("Who is Frank Zappa?", "A man from Baltimore.", "Where did Zappa live?", "In Rome.")

    assert gather(doc).topic.text == "Frank Zappa"


def test_without_a_name_the_topic_is_the_opening_questions_noun_phrase():
    assert gather(document("What is throat cancer?", "it is bad")).topic.text == "throat cancer"


def test_occurrences_point_into_the_documents_text():
    doc = document(
        "Who is Ann Lee?",
        'She sang "Blue".',
        title=" Journey (band) ",
        section="Tour",
        background="Long ago.",
    )

    for candidate in gather(doc).candidates:
        for place in candidate.occurrences:
            assert doc.text()[place.start : place.end].casefold() == candidate.text.casefold()
