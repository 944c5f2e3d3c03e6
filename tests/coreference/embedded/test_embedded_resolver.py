import subprocess
import sys

import pytest

from replay.core.history import Exchange
from replay.coreference.embedded import VERSION, EmbeddedResolver
from replay.coreference.embedded.candidates import gather
from replay.coreference.embedded.features import describe
from replay.coreference.embedded.network import shipped
from replay.coreference.embedded.ranker import LEAST_ELLIPSIS
from replay.coreference.embedded.scene import look_at
from replay.coreference.resolver import Document, MentionReader, Resolver

RESOLVER = EmbeddedResolver()


def read(question, *said, **heading):
    """Mention -> antecedent, for a question after questions and answers in turn; the ellipsis apart."""
    turns = tuple(Exchange(question=q, answer=a) for q, a in zip(said[::2], said[1::2], strict=True))
    (readings,) = RESOLVER.read([Document(question=question, turns=turns, **heading)])
    return {reading.mention.text: reading.antecedent for reading in readings if reading.mention.text}


def test_it_is_a_resolver_and_a_reader():
    assert isinstance(RESOLVER, Resolver)
    assert isinstance(RESOLVER, MentionReader)
    assert RESOLVER.signature == f"embedded-{VERSION}"


def test_pronouns_mean_the_topic_where_it_is_of_their_kind():
    assert read("When did she sing?", title="Tori Amos") == {"she": "Tori Amos"}
    assert read("When did they tour?", title="Journey (band)") == {"they": "Journey"}
    assert read("Was it popular?", title="Gypsy (musical)") == {"it": "Gypsy"}


def test_a_person_in_an_article_on_something_else():
    said = ("Who left?", "In 1978 the manager fired Steve Smith.")

    assert read("Why was he fired?", *said, title="Journey (band)") == {"he": "Steve Smith"}


def test_gender_decides():
    said = ("Who were his parents?", "His mother was Mary Lee.")

    assert read("What did she do?", *said, title="John Lee Hooker (singer)")["she"] == "Mary Lee"


def test_a_name_in_the_question_itself_keeps_the_pronoun():
    assert read("When John came, was he happy?", title="The Oak Ridge Boys") == {"he": None}


def test_a_demonstrative_means_what_was_said_last():
    assert read("Was that a success?", "What did she sing?", 'Her hit "Blue Moon".', title="Ann Lee") == {
        "that": "Blue Moon"
    }


def test_a_noun_finds_the_name_that_stands_behind_it():
    said = (
        "What else?",
        "He released the third album Person Pitch in Lisbon after a tour with Animal Collective.",
    )

    assert read("Was that album popular?", *said, title="Panda Bear (musician)") == {
        "that album": "Person Pitch"
    }


def test_a_time_is_the_sections_years():
    heading = {"title": "Billie Jean King", "section": "1982-1983"}

    assert (
        read("Where did she play in that time?", "Where?", "In 1990.", **heading)["that time"] == "1982-1983"
    )


def test_what_is_left_out_is_read_last_and_only_where_it_is_probable_enough():
    turn = Exchange(question="What did she make?", answer="The album Blue Moon.")
    documents = [
        Document(question=question, turns=(turn,)) for question in ("What else?", "Why did she go to Rome?")
    ]
    for document in documents:
        weights = shipped().probabilities(describe(look_at(document)))
        (readings,) = RESOLVER.read([document])
        told = [reading for reading in readings if reading.mention.kind == "ellipsis"]
        assert bool(told) is bool(1 - weights[-1, 0] >= LEAST_ELLIPSIS)
        assert told == list(readings[-1:]) * len(told)


def test_where_nothing_was_said_nothing_is_left_out():
    assert RESOLVER.read([Document(question="What else?")]) == [()]


@pytest.mark.parametrize("answer", ["CANNOTANSWER", "I don't know.", ""])
def test_an_answer_that_says_nothing_holds_no_antecedent(answer):
    assert read("Why was that?", "Is it?", answer) == {"that": None}


def test_nothing_to_go_on():
    assert read("Did she like it?") == {"she": None, "it": None}
    assert read("") == {}


def test_clusters_hold_the_antecedent_and_the_mentions():
    document = Document(question="Did she like her song?", title="Tori Amos (singer)")
    (found,) = RESOLVER.resolve([document])
    (readings,) = RESOLVER.read([document])

    for antecedent, *mentions in found:
        said = [document.text()[span.start : span.end] for span in mentions]
        named = document.text()[antecedent.start : antecedent.end]
        assert said == [reading.mention.text for reading in readings if reading.antecedent == named]
    assert found[0][0].start == 0


def test_an_utterance_is_looked_at_up_to_a_limit():
    """So that a very long answer costs no more than a long one."""

    def gathered(times):
        answer = 'Ann Lee and "Blue" of the band, in 1990, went on. ' * times
        exchange = Exchange(question="Who?", answer=answer)
        document = Document(question="Did she like it?", turns=(exchange,) * 3, background=answer)
        return [len(c.occurrences) for c in gather(document).candidates]

    assert gathered(100) == gathered(4000)


def test_importing_it_loads_no_model_library():
    code = (
        "import sys, replay.coreference.embedded as e; e.EmbeddedResolver();"
        "print([m for m in ('spacy', 'torch', 'pandas', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
