import pytest

from replay.core.history import Exchange
from replay.coreference.embedded import EmbeddedResolver
from replay.coreference.embedded.candidates import gather
from replay.coreference.embedded.network import Ensemble, shipped
from replay.coreference.embedded.persons import Persons, is_person_noun
from replay.coreference.embedded.ranker import read_document
from replay.coreference.embedded.scene import look_at
from replay.coreference.mentions import find_mentions
from replay.coreference.resolver import Document


def document(question="Was he or she ill?", *said, **heading):
    turns = tuple(Exchange(question=q, answer=a) for q, a in zip(said[::2], said[1::2], strict=True))
    return Document(question=question, turns=turns, **heading)


def possible(text, doc):
    """Which of the question's mentions the candidate *text* could be meant by."""
    scene = look_at(doc)
    persons = Persons(scene)
    (candidate,) = (c for c in scene.candidates if c.text == text)
    return {m.text for m in find_mentions(doc.question) if persons.could_mean(m, candidate)}


@pytest.mark.parametrize(
    "heading",
    [
        {"title": "Two Spoons", "background": "Two Spoons is a cooking show on television."},
        {"title": "Kneewright", "background": "The Kneewright is a knee brace by a clockmaker."},
        {"title": "Vellmoor Otters", "background": "The Vellmoor Otters are an underwater hockey club."},
        {"title": "Brackwater Museum of Clocks"},
        {"title": "Marie Curie Museum"},
        {"title": "Lumen Shelf expedition"},
        {"title": "Lumen Shelf gizmo"},
        {"title": "The Glass Ferry"},
        {"title": "Thriller (album)"},
    ],
)
def test_what_is_evidently_a_thing_is_neither_he_nor_she(heading):
    doc = document(**heading)

    assert possible(gather(doc).topic.text, doc) == set()


@pytest.mark.parametrize(
    "heading",
    [
        {"title": "Imke Sarpong", "background": "Imke Sarpong (born 1958) plays."},
        {
            "title": "Imke Sarpong",
            "background": "Imke Sarpong is an accordionist and songwriter from Lindehavn.",
        },
        {"title": "Imke Sarpong"},
        {"title": "Frank Church", "background": "Frank Church was an Idaho institution."},
        {"title": "Seabiscuit", "background": "Seabiscuit was a small horse."},
        {"title": "The Undertaker"},
    ],
)
def test_who_may_be_a_person_is_not_forbidden(heading):
    doc = document(**heading)

    assert possible(gather(doc).topic.text, doc) == {"he", "she"}


def test_a_shorter_name_of_a_thing_is_the_thing():
    said = ("Where is it?", "The town of Brackwater is near.")

    doc = document("Did he?", *said, title="Brackwater Museum of Clocks")

    assert possible("Brackwater", doc) == set()


def test_a_person_after_whom_a_thing_is_named_stays_one():
    said = ("Who was she?", "It is named after Marie Curie.")

    assert possible("Marie Curie", document("Did she?", *said, title="Marie Curie Museum")) == {"she"}


def test_the_other_pronoun_does_not_mean_someone_whose_sex_was_told():
    background = "Devika Thorsane is a composer. Her best-known work is The Glass Ferry."
    doc = document(title="Devika Thorsane", background=background)
    fuller = document("Did he or she?", "Who?", "Mary Quarn. Later Quarn left.", title="The Ferry")
    aunt = document("Did he or she?", "Who?", "It was his aunt Keiko.", title="The Ferry")

    assert possible("Devika Thorsane", doc) == {"she"}
    assert possible("Quarn", fuller) == {"she"}
    assert possible("Keiko", aunt) == {"she"}


def test_a_last_name_of_several_tells_no_sex_unless_all_are_of_it():
    said = ("Who?", "Mary Quarn came, and so did Zorv Quarn. Later Quarn left.")

    assert possible("Quarn", document("Did he or she?", *said, title="The Ferry")) == {"he", "she"}


def test_other_mentions_may_mean_things():
    doc = document("Did they like it?", title="The Lantern Census")

    assert possible("The Lantern Census", doc) == {"they", "it"}


@pytest.mark.parametrize("noun", ["accordionist", "composers", "surgeon", "clockmaker", "captain", "horse"])
def test_nouns_of_persons(noun):
    assert is_person_noun(noun)


@pytest.mark.parametrize("noun", ["show", "trainer", "newspaper", "theater", "list", "water", "quartet"])
def test_nouns_of_things(noun):
    assert not is_person_noun(noun)


def test_a_thing_leaves_its_probability_to_the_others():
    said = ("What was the first dish?", "The first dish was a pumpkin soup, which Desmond Tamuro burned.")
    background = "Two Spoons is a cooking show on television."
    doc = document("How did he manage that?", *said, title="Two Spoons", background=background)

    ((reading, *_),) = EmbeddedResolver().read([doc])

    assert reading.antecedent == "Desmond Tamuro"
    assert "Two Spoons" not in [text for _, text in reading.distribution]
    assert 0.5 < sum(probability for probability, _ in reading.distribution) <= 1


def test_a_mention_that_nothing_could_be_is_left_alone():
    ensemble: Ensemble = shipped()

    chosen, *_ = read_document(document("Was he ill?", title="Brackwater Museum"), ensemble)

    assert chosen.reading.antecedent is None
    assert chosen.reading.distribution == ()
