"""Tickets of help desks, in the shapes of their interfaces' documentation."""

from __future__ import annotations

import pytest

from replay.datasets.tickets import FreshdeskReader, IntercomReader, ZendeskReader, text_of_html
from tests.datasets.files import contract, fault, ids, json_file, only, pairs

ANN, AGENT = 20978392, 235323


def comment(author, text, *, public=True, **more):
    return {
        "type": "Comment",
        "author_id": author,
        "body": text,
        "plain_body": text,
        "public": public,
        **more,
    }


ZENDESK = {
    "id": 35436,
    "subject": "Help, my printer is on fire!",
    "requester_id": ANN,
    "satisfaction_rating": {"score": "bad"},
    "comments": [
        comment(ANN, "It burns.", attachments=[{"file_name": "fire.jpg"}], created_at="2024-05-01T10:00:00Z"),
        comment(AGENT, "Is she important?", public=False),
        comment(AGENT, "Unplug it.", created_at="2024-05-01T10:05:00Z"),
        comment(ANN, "How?"),
        comment(AGENT, "Pull."),
        comment(AGENT, "Gently."),
    ],
}


TestZendeskReader = contract(
    ZendeskReader(),
    "t.jsonl",
    [ZENDESK, ZENDESK | {"id": 2}],
    [ZENDESK | {"comments": "none"}, ZENDESK | {"id": 2}],
)


def part(who, text, kind="comment", at=1734537243):
    return {"part_type": kind, "author": {"type": who}, "body": text and f"<p>{text}</p>", "created_at": at}


INTERCOM = {
    "type": "conversation",
    "id": "215",
    "created_at": 1734537243,
    "source": {"author": {"type": "user"}, "body": "<p>I can&#39;t <b>log in</b></p>", "subject": ""},
    "conversation_rating": {"rating": 1},
    "conversation_parts": {
        "conversation_parts": [
            part("bot", "Did you reset it?"),
            part("admin", None, "assignment"),
            part("admin", "For you, Jo", "assignment"),
            part("admin", "Check billing", "note"),
            part("user", "Yes"),
            part("admin", "Fixed.", "close"),
        ]
    },
}


TestIntercomReader = contract(
    IntercomReader(),
    "t.jsonl",
    [INTERCOM, INTERCOM | {"id": "2"}],
    [(INTERCOM | {"conversation_parts": {"conversation_parts": "none"}}), INTERCOM | {"id": "2"}],
)


FRESHDESK = {
    "id": 20,
    "subject": "Invoice",
    "description": "<div>My invoice is wrong.</div>",
    "description_text": "My invoice is wrong.",
    "created_at": "2024-05-01T10:00:00Z",
    "conversations": [
        {"incoming": False, "private": False, "body_text": "Which one?", "body": "<div>Which one?</div>"},
        {"incoming": False, "private": True, "body_text": "A VIP"},
        {"incoming": True, "private": False, "body": "<div>The last<br>one</div>"},
    ],
}


TestFreshdeskReader = contract(
    FreshdeskReader(),
    "t.jsonl",
    [FRESHDESK, FRESHDESK | {"id": 2}],
    [(FRESHDESK | {"conversations": 3}), FRESHDESK | {"id": 2}],
)


def test_who_asked_is_the_user_and_private_comments_are_left_out(tmp_path):
    found = only(ZendeskReader(), json_file(tmp_path / "t.json", ZENDESK))
    assert (found.id, found.title) == ("35436", "Help, my printer is on fire!")
    assert pairs(found) == [("It burns.", "Unplug it."), ("How?", "Pull.\nGently.")]
    assert found.metadata["scores"] == [{"name": "satisfaction_rating", "value": "bad"}]
    assert found.metadata["left_out"] == [{"attachment": 1}, None]
    assert found.metadata["answer_timestamps"][0] == "2024-05-01T10:05:00Z"


def test_private_notes_are_read_when_asked_for(tmp_path):
    found = only(ZendeskReader(private_notes=True), json_file(tmp_path / "t.json", ZENDESK))
    assert pairs(found)[0] == ("It burns.", "Is she important?\nUnplug it.")
    found = only(IntercomReader(private_notes=True), json_file(tmp_path / "i.json", INTERCOM))
    assert pairs(found)[0][1] == "Did you reset it?\nFor you, Jo\nCheck billing"
    found = only(FreshdeskReader(private_notes=True), json_file(tmp_path / "f.json", FRESHDESK))
    assert pairs(found)[0][1] == "Which one?\nA VIP"


@pytest.mark.parametrize(
    "who", [{"requester_id": None, "requester": {"id": ANN}}, {"requester_id": str(ANN)}]
)
def test_the_requester_may_stand_in_two_places(tmp_path, who):
    assert len(only(ZendeskReader(), json_file(tmp_path / "t.json", ZENDESK | who)).turns) == 2


def test_html_counts_before_plain_text_whose_entities_are_left(tmp_path):
    ticket = ZENDESK | {"comments": [comment(ANN, "a &amp; b", html_body="<p>a &amp; b</p><p>c</p>")]}
    assert only(ZendeskReader(), json_file(tmp_path / "t.json", ticket)).turns[0].question == "a & b\nc"


def test_a_conversation_of_intercom_is_its_source_and_its_public_parts(tmp_path):
    found = only(IntercomReader(), json_file(tmp_path / "t.json", INTERCOM))
    assert pairs(found) == [("I can't log in", "Did you reset it?"), ("Yes", "Fixed.")]
    assert found.metadata["scores"] == [{"name": "rating", "value": 1}]
    assert found.metadata["timestamps"][0] == "2024-12-18T15:54:03+00:00"


def test_what_a_company_writes_first_is_background(tmp_path):
    first = {"author": {"type": "admin"}, "body": "<p>New prices!</p>"}
    found = only(IntercomReader(), json_file(tmp_path / "t.json", INTERCOM | {"source": first}))
    assert found.background == "New prices!\nDid you reset it?"
    assert pairs(found) == [("Yes", "Fixed.")]


def test_a_ticket_of_freshdesk_begins_with_its_description(tmp_path):
    found = only(FreshdeskReader(), json_file(tmp_path / "t.json", FRESHDESK))
    assert pairs(found) == [("My invoice is wrong.", "Which one?"), ("The last\none", None)]


@pytest.mark.parametrize(
    ("page", "id"),
    [
        ({"tickets": [ZENDESK], "next_page": None}, "35436"),
        ({"type": "conversation.list", "conversations": [INTERCOM]}, "215"),
        ([FRESHDESK], "20"),
    ],
)
def test_pages_and_lists_are_read_and_told_apart(tmp_path, page, id):
    assert ids([json_file(tmp_path / "page.json", page)]) == [id]


def test_what_is_no_conversation_is_told(tmp_path):
    alone = ZENDESK | {"comments": [comment(AGENT, "Hello?")]}
    assert fault(ZendeskReader(), json_file(tmp_path / "a.json", alone)).endswith(
        'ticket "35436" has no message of the user'
    )
    nobody = ZENDESK | {"requester_id": None}
    assert "requester_id" in fault(ZendeskReader(), json_file(tmp_path / "b.json", nobody))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p>\n<p>Two&nbsp;&lt;3</p>", "One\nTwo <3"),
        ("a<br/>b<style>p {}</style>  c", "a\nb c"),
        ("<ul><li>x</li><li>y</li></ul>", "x\ny"),
        ("a < b", "a < b"),
        (None, ""),
    ],
)
def test_of_html_the_text_is_kept(html, text):
    assert text_of_html(html) == text
