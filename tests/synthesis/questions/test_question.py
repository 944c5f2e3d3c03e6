"""Questions that lean on others: what stands for what is known."""

from dataclasses import replace
from pathlib import Path

from replay.synthesis.documents.document import SourceSection, SourceSentence
from replay.synthesis.questions.question import (
    DocumentFact,
    QuestionSetting,
    QuestionTopic,
    in_setting,
    lean_on,
)
from replay.synthesis.questions.sentences import facts_of
from replay.synthesis.questions.settings import SiteOutline, settings_of
from tests.data_tables import from_table
from tests.synthesis.questions.test_sentences import KNOWN


def fact_of(text):
    section = SourceSection(id="a.md#1", headings=(), text=text, start=0, end=len(text), blocks=())
    return next(facts_of(section, SourceSentence(text=text, start=0), KNOWN))


def made(question, *, topic="", **more):
    section = SourceSection(id="a.md#1", headings=(), text="Yes.", start=0, end=4, blocks=())
    found = (
        QuestionTopic(text=topic, start=question.index(topic), is_owner=" of " in question) if topic else None
    )
    return DocumentFact(question=question, answers=("Yes.",), start=0, section=section, topic=found, **more)


@from_table
def test_a_question_leans_on_the_one_before(first, then, asked, antecedent):
    form = next(iter(lean_on(fact_of(then), fact_of(first), 3)))
    (reference,) = form.references
    assert (form.question, reference.antecedent, reference.depth) == (asked, antecedent, 3)
    assert form.question[reference.start : reference.end] == reference.text
    whole = form.question[: reference.start] + reference.antecedent + form.question[reference.end :]
    assert not reference.text or whole == form.fact.question


def test_questions_on_different_things_lean_on_nothing():
    assert (
        list(
            lean_on(
                fact_of("A node supports up to 20 labels."), fact_of("Pods can be moved to a quiet place."), 1
            )
        )
        == []
    )


def test_a_cell_is_asked_for_by_its_owner():
    before = made("What is the type of the retries parameter?", topic="the retries parameter", kind="cell")
    then = made(
        "What is the default value of the retries parameter?", topic="the retries parameter", kind="cell"
    )
    assert [form.question for form in lean_on(then, before, 1)] == [
        "What is its default value?",
        "What is the default value of that parameter?",
    ]


def test_an_item_of_a_list_is_asked_for_by_its_place():
    listed = made("Which modes are there?", kind="list", list_start=0)
    item = made("What is the quick mode?", topic="the quick mode", kind="item", place=2, list_start=0)
    (form,) = lean_on(item, listed, 1)
    assert (form.question, form.way) == ("What is the second one?", "ordinal")


def test_a_reason_is_asked_with_why():
    yes_no = made("Can a snapshot be changed?", kind="yes-no")
    reason = made(
        "Why can't a snapshot be changed?", kind="reason", reason_for=yes_no.question, is_denied=True
    )
    (form,) = lean_on(reason, yes_no, 2)
    assert (form.question, form.references[0].antecedent) == ("Why not?", "Why can't a snapshot be changed")


def test_a_person_is_no_it():
    before, then = (
        made(f"{word} Ada Lovelace born?", topic="Ada Lovelace", kind="time")
        for word in ("When was", "Where was")
    )
    section = SourceSection(
        id="b", headings=(), text="Ada said that she was born.", start=0, end=27, blocks=()
    )
    then = DocumentFact(
        kind="time", question=then.question, answers=("Ada",), start=0, section=section, topic=then.topic
    )
    assert next(lean_on(then, before, 1)).question == "Where was she born?"


def test_a_setting_is_left_out_where_it_was_said():
    page = QuestionSetting(text="TLS", key="tls.md", is_told=False)
    heading = QuestionSetting(text="joining a node", key="tls.md#Joining a node", is_told=False)
    fact = made("Is a key needed?", kind="yes-no", settings=(page, heading))
    assert fact.standalone == "About TLS, joining a node: Is a key needed?"
    form = in_setting(fact, {page: 2})
    assert (form.question, form.way) == ("About joining a node: Is a key needed?", "setting")
    assert in_setting(fact, {page: 2, heading: 3}).question == "Is a key needed?"


def told_on(path, question, title, *headings, shared=(), product="", site=""):
    """Return what is said before a question under *headings* of a page, None where nothing tells it."""
    section = SourceSection(id="a.md#1", headings=(title, *headings), text="Yes.", start=0, end=4, blocks=())
    fact = replace(made(question, kind="yes-no"), section=section)
    outline = SiteOutline(
        shared_titles=shared,
        shared_headings=shared,
        root=Path("docs").absolute(),
        products={path: product},
        site=site,
    )
    told = settings_of(fact, title, path, outline)
    return None if told is None else [one.text for one in told if not one.is_told]


@from_table
def test_a_page_is_named_where_the_question_does_not_name_it(title, heading, question, settings):
    assert told_on("docs/agents/a.md", question, title, heading) == settings


def test_a_title_that_several_folders_have_is_told_with_its_folder():
    told = told_on("docs/step-indicator/a.md", "Is a key needed?", "Use", "Usage notes", shared={("Use", "")})
    assert told == ["Use (step indicator)"]


def test_a_title_is_told_with_the_product_or_the_site_unless_the_question_names_it():
    leave = told_on("docs/a.md", "Is a key needed?", "Leave types", site="18F handbook")
    assert leave == ["Leave types (18F handbook)"]
    assert told_on("docs/a.md", "Is the 18F handbook kept?", "Leave types", site="18F handbook") == [
        "Leave types"
    ]
    assert told_on("docs/a.md", "Is a key needed?", "Roles", product="Mastodon") == ["Roles (Mastodon)"]
    assert told_on("docs/a.md", "Is a key needed?", "Overview", product="Mastodon") == ["Mastodon"]


def test_a_heading_that_stands_elsewhere_too_is_told_with_the_one_above():
    headings = "LDAP injection", "Mitigation"
    told = told_on("docs/a.md", "Is a key needed?", "Safe input", *headings, shared={"Mitigation"})
    assert told == ["Safe input", "LDAP injection", "Mitigation"]


def test_a_heading_that_nobody_can_say_leaves_its_place_untold():
    assert told_on("docs/a.md", "Is a key needed?", "Safe input", "Where are passwords kept?") is None


def test_more_that_a_thing_does_is_asked_for_by_what_else():
    first = made("What does the agent do?", topic="the agent", kind="effect", act="storing a copy")
    question = "Besides storing a copy, what does the agent do?"
    more = made(question, topic="the agent", kind="effect", more_of=first.question)
    (form,) = lean_on(more, first, 1)
    assert (form.question, form.way, form.references[0].antecedent) == (
        "What else does it do?",
        "else",
        "storing a copy",
    )
    assert form.fact.standalone == question
    assert not list(lean_on(more, made("Is the agent small?", topic="the agent", kind="yes-no"), 1))
