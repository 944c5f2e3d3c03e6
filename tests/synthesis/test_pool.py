"""What documents carry: comparisons and "what else" only where the answer is exact."""

from replay.synthesis.documents.read import read_documents
from replay.synthesis.pool import pool_of
from tests.data_tables import from_table

TWO_EFFECTS = """# Agents

The backup agent copies each folder of a team. The backup agent informs the owner. A copy can be moved.
"""


def asked(folder, text):
    (folder / "page.md").write_text(text, "utf-8")
    facts = [fact for area in pool_of(read_documents([folder]), least=1).areas for fact in area.facts]
    return {fact.question: fact for fact in facts}


@from_table
def test_rows_are_compared_where_both_have_a_number_of_one_unit(header, cells, question, answer, tmp_path):
    rows = "".join(
        f"| {name} | {cell} | x |\n" for name, cell in zip(("Basic", "Family"), cells, strict=True)
    )
    page = f"# Plans\n\n| Plan | {header} | Other |\n|---|---|---|\n{rows}"
    found = {one: fact for one, fact in asked(tmp_path, page).items() if fact.kind == "difference"}
    assert {one: fact.answers for one, fact in found.items()} == ({question: (answer,)} if question else {})


def test_the_second_thing_that_something_does_is_what_else_it_does(tmp_path):
    found = asked(tmp_path, TWO_EFFECTS)
    more = found["Besides copying each folder of a team, what does the backup agent do?"]
    assert more.answers[0] == "The backup agent informs the owner."
    assert more.more_of in found


def test_of_three_things_nobody_says_which_one_is_meant(tmp_path):
    found = asked(tmp_path, TWO_EFFECTS + "\nThe backup agent deletes a copy after a week.\n")
    assert not any(fact.more_of or fact.kind == "effect" for fact in found.values())


BROAD = """# Archives

The threat model is defined in terms of what each adversary can achieve. A copy of a record is stored in a
secure way. The archive provides a lamp with a lens. The archive covers the years from 1850 to 1990. A reader
can ask for three records at once.
"""


def test_what_says_in_which_way_says_no_place_and_some_questions_are_too_broad(tmp_path):
    found = asked(tmp_path, BROAD)
    assert "What does the archive cover?" in found
    assert not any(one.startswith("Where") or one == "What does the archive provide?" for one in found)


NOT_ASKED = """# Roles

The admin role needs a password unless a key is there. The updated key is sent to the admin. A majority of the
admins sign a key.

## Version 1.2.0

The agent needs a key. The agent reads a key once an hour. The agent runs on a server.

## Example

The archive needs a lamp. The archive reads a map once an hour. The archive runs on a server.
"""


def test_what_holds_only_at_times_or_in_an_example_is_not_asked(tmp_path):
    assert not asked(tmp_path, NOT_ASKED)


def test_what_ought_to_happen_is_not_what_happens(tmp_path):
    page = "# Leaving\n\nIf a member leaves, the owner must revoke the key. A key is a file. It is kept.\n"
    assert any(one.startswith("What should happen if a member leaves") for one in asked(tmp_path, page))


OFFICES = """# Office handbook

## London

### Layout and rooms

The office is split over two floors. The office needs a permit. The office can be closed.

## Bristol

### Layout and rooms

The office is quiet. The office needs a badge. The office can be rented.
"""


def test_a_heading_that_stands_twice_on_a_page_is_told_with_the_one_above(tmp_path):
    told = [fact.standalone for fact in asked(tmp_path, OFFICES).values()]
    assert [one for one in told if "London, Layout and rooms: Does the office need a permit?" in one]
    assert [one for one in told if "Bristol, Layout and rooms: Does the office need a badge?" in one]


@from_table
def test_what_only_the_passage_or_its_day_tells_is_not_asked(sentence, tmp_path):
    page = f"# Archives\n\nThe archive needs a permit. {sentence} A map shows a town.\n"
    found = asked(tmp_path, page)
    assert found
    assert not [one for one, fact in found.items() if fact.answers[0] in sentence]
