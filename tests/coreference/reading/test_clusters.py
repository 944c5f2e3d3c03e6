from replay.core.history import Exchange
from replay.coreference.reading.readings import first_naming_span, readings_from_clusters
from replay.coreference.reading.resolver import CharSpan, Document

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
        found.append(CharSpan(start=at, end=at + len(text.lstrip("|"))))
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
        CharSpan(start=start - 3, end=start + 3),
        CharSpan(start=start, end=start),
        CharSpan(start=len(DOCUMENT.text()), end=10_000),
    )

    assert readings_from_clusters(DOCUMENT, [cluster]) == ()


def test_a_name_in_the_question_itself_is_no_antecedent():
    document = Document(question="Ann said she left", turns=DOCUMENT.turns)

    readings = readings_from_clusters(document, [spans("|Ann", "|she", document=document)])
    assert [(r.mention.text, r.antecedent) for r in readings] == [("Ann", None), ("she", None)]


def test_a_mention_may_open_and_close_the_question():
    document = Document(question="she sang Blue", turns=DOCUMENT.turns)
    found = readings_from_clusters(document, [spans("Ann Lee", "|she", "|Blue", document=document)])

    assert [(r.mention.text, r.mention.start, r.mention.end) for r in found] == [
        ("she", 0, 3),
        ("Blue", 9, 13),
    ]


def test_the_first_naming_span_is_by_place_whatever_the_clusters_order():
    her, ann, blue = spans("Her", "Ann Lee", "Blue")

    assert first_naming_span(DOCUMENT.text(), [blue, ann, her]) == ann
    assert first_naming_span(DOCUMENT.text(), [her]) is None
    assert first_naming_span("Ann left.", [CharSpan(start=0, end=3)]) == CharSpan(start=0, end=3)
    assert first_naming_span("her band, she", [CharSpan(start=0, end=8)]) == CharSpan(start=0, end=8)
    assert first_naming_span("?", [CharSpan(start=0, end=1)]) is None
