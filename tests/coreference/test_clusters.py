from replay.core.history import Exchange
from replay.coreference.clusters import readings_from_clusters
from replay.coreference.resolver import Document, Span

DOCUMENT = Document(
    question="Did she like her album?",
    turns=(Exchange(question="Who sang?", answer="Her sister Ann Lee sang Blue."),),
)


def spans(*texts, document=DOCUMENT):
    """Clusters by words; a word before "|" is looked for in the question."""
    found = []
    for text in texts:
        start = len(document.context()) if text.startswith("|") else 0
        at = document.text().index(text.lstrip("|"), start)
        found.append(Span(start=at, end=at + len(text.lstrip("|"))))
    return tuple(found)


def test_reads_the_first_naming_span_before_the_question():
    readings = readings_from_clusters(DOCUMENT, [spans("Her", "Ann Lee", "|she", "|her")])

    assert [(r.mention.text, r.mention.kind, r.antecedent) for r in readings] == [
        ("she", "she", "Ann Lee"),
        ("her", "she", "Ann Lee"),
    ]
    assert [r.mention.possessive for r in readings] == [False, True]
    assert DOCUMENT.question[readings[0].mention.start :].startswith("she")


def test_pronouns_alone_name_nothing():
    readings = readings_from_clusters(DOCUMENT, [spans("Her", "|she")])

    assert [r.antecedent for r in readings] == [None]


def test_a_cluster_of_the_question_alone_has_no_antecedent():
    readings = readings_from_clusters(DOCUMENT, [spans("|she", "|her")])

    assert [r.antecedent for r in readings] == [None, None]


def test_a_cluster_outside_the_question_is_no_mention():
    assert readings_from_clusters(DOCUMENT, [spans("Her", "Ann Lee")]) == ()


def test_nested_mentions_come_longest_first():
    readings = readings_from_clusters(DOCUMENT, [spans("Ann Lee", "|her"), spans("Blue", "|her album")])

    assert [(r.mention.text, r.antecedent) for r in readings] == [("her album", "Blue"), ("her", "Ann Lee")]


def test_of_two_clusters_with_one_span_the_one_with_an_antecedent_counts():
    readings = readings_from_clusters(DOCUMENT, [spans("Her", "|she"), spans("Ann Lee", "|she")])

    assert [r.antecedent for r in readings] == ["Ann Lee"]


def test_spans_outside_the_text_or_across_its_border_are_left_out():
    start = len(DOCUMENT.context())
    cluster = (
        *spans("Ann Lee"),
        Span(start=start - 3, end=start + 3),
        Span(start=start, end=start),
        Span(start=len(DOCUMENT.text()), end=10_000),
    )

    assert readings_from_clusters(DOCUMENT, [cluster]) == ()
