"""How often rewritten questions agree with the data's standalone ones."""

from __future__ import annotations

from replay.results.run_report import wording_agreements

THEIRS = "Who does Ismene Tull meet in The Lantern Census?"
OURS = (
    "who does Ismene Tull meet in Lantern Census",  # word for word
    "In The Lantern Census, who meets Ismene Tull?",  # another word: "meets"
    "Does Ismene Tull meet him in the Lantern Census, then?",  # the same things
    "Who does Ismene Tull meet?",  # less
    "Who does Corvo meet in The Lantern Census?",  # somebody else
)


def test_each_kind_of_agreement_is_counted():
    (one,) = wording_agreements(("bot", "rewrite", ours, THEIRS) for ours in OURS)

    assert (one.questions, one.equal, one.same_things, one.nothing_else) == (5, 1, 2, 3)


def test_each_group_has_its_own():
    found = wording_agreements(
        ("bot", policy, OURS[0], THEIRS) for policy in ("rewrite", "rewrite2", "rewrite")
    )

    assert [(one.group.policy, one.questions) for one in found] == [("rewrite", 2), ("rewrite2", 1)]
