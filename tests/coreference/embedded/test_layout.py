import pytest
from hypothesis import given, strategies as st

from replay.core.history import Exchange
from replay.coreference.embedded.layout import holds_answer, layout
from replay.coreference.resolver import Document

texts = st.text(max_size=20)
exchanges = st.builds(lambda q, a: Exchange(question=q, answer=a), texts, texts)
documents = st.builds(
    lambda question, turns, title, section, background: Document(
        question=question, turns=tuple(turns), title=title, section=section, background=background
    ),
    texts,
    st.lists(exchanges, max_size=3),
    texts,
    texts,
    texts,
)


@given(documents)
def test_parts_stand_where_the_layout_says(document):
    for part in layout(document):
        assert document.text()[part.start :].startswith(part.text)
        assert part.text == part.text.strip() != ""


@pytest.mark.parametrize(
    "answer", ["CANNOTANSWER", "I don't know.", "I don’t know", "", " ", "?!", "Unknown."]
)
def test_some_answers_say_nothing(answer):
    assert not holds_answer(answer)


@pytest.mark.parametrize("answer", ["No.", "I don't know much, but she sang.", "1990", "李安"])
def test_others_do(answer):
    assert holds_answer(answer)
