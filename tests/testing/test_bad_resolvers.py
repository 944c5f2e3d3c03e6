"""The contract tells the author of a bad resolver what to do."""

from __future__ import annotations

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.resolver import CharSpan, Document
from replay.testing import ResolverContract
from tests.testing.checking import bad_ones, said


class Last:
    """A good resolver, but for what is put in its place."""

    signature = "last"

    def resolve(self, documents):
        return [self.clusters(document) for document in documents]

    def clusters(self, document):
        end = len(document.text())
        return [(CharSpan(start=0, end=3), CharSpan(start=end - 3, end=end))] if end > 8 else []


def resolver(**members):
    return type("Bad", (Last,), members)()


def reader(mention):
    """One that reads this mention in every question."""

    def read(self, documents):
        reading = Reading(mention=mention, antecedent="Ann")
        return [(reading,) if document.question else () for document in documents]

    return resolver(read=read)


DOCUMENTS = [Document(question="Who sang?"), Document(question="Why did she sing?"), Document(question="")]


@bad_ones(
    {
        "it_is_a_resolver": [(resolver(signature=lambda self: "last"), "put @property above it")],
        "there_is_one_list_of_clusters_per_document": [
            (resolver(resolve=lambda self, documents: []), "0 results for 3 documents"),
            (resolver(clusters=lambda self, document: []), "nothing is found in any document"),
        ],
        "spans_lie_in_the_text_and_in_order": [
            (
                resolver(
                    clusters=lambda self, document: [(CharSpan(start=0, end=3), CharSpan(start=3, end=99))]
                ),
                "lies outside the text",
            ),
            (
                resolver(
                    clusters=lambda self, document: [(CharSpan(start=0, end=3), CharSpan(start=0, end=3))]
                ),
                "not in document order, or there twice",
            ),
            (resolver(clusters=lambda self, document: [(CharSpan(start=0, end=3),)]), "has one span"),
            (resolver(clusters=lambda self, document: [[0, 3]]), "give tuples of CharSpan"),
            (
                resolver(clusters=lambda self, document: [*Last().clusters(document), *_first(document)]),
                "order them by their first span",
            ),
        ],
        "a_document_is_resolved_alone_whatever_comes_with_it": [
            (
                resolver(resolve=lambda self, documents: [Last().clusters(documents[0])] * len(documents)),
                "or a run could not be repeated",
            )
        ],
        "its_languages_are_a_set_of_codes_or_any": [(resolver(languages="de"), "give a frozenset of codes")],
        "readings_are_of_mentions_in_the_question": [
            (reader(Mention(start=0, end=0, text="", kind="it")), "is empty"),
            (
                reader(Mention(start=0, end=3, text="Who", kind="ellipsis")),
                "an empty span where it could be put",
            ),
            (
                reader(Mention(start=99, end=99, text="", kind="ellipsis")),
                "an empty span where it could be put",
            ),
        ],
        "it_works_after_a_trip_to_another_process": [(resolver(), "can't be pickled")],
        "the_signature_is_one_word_and_stays": [(resolver(signature="l 1"), "write it as one word")],
    }
)
async def test_a_bad_resolver(test, bad, words):
    assert words in await said(ResolverContract(), test, resolver=bad, documents=DOCUMENTS)


def test_what_a_question_leaves_out_may_be_read():
    end = len(DOCUMENTS[0].question) - 1
    ResolverContract().test_readings_are_of_mentions_in_the_question(
        reader(Mention(start=end, end=end, text="", kind="ellipsis")), DOCUMENTS
    )


def _first(document):
    return [(CharSpan(start=0, end=1), CharSpan(start=1, end=2))] if len(document.text()) > 8 else []
