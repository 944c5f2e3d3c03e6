from __future__ import annotations

import pytest

from replay.core.errors import InputError
from replay.statistics.group import Group, pair_groups, select_groups, two_names

A, B = Group("a", "gold"), Group("a", "pred")
C, D = Group("b", "gold"), Group("b", "pred")


def test_without_a_word_equal_groups_are_compared():
    assert pair_groups([A, B, C], [A, B, D]) == [(A, A), (B, B)]


def test_two_policies_are_compared_system_by_system():
    assert pair_groups([A, B, C, D], [A, B, C, D], policies=("gold", "pred")) == [(A, B), (C, D)]


def test_two_systems_are_compared_policy_by_policy():
    assert pair_groups([A, B, C, D], [A, B, C, D], systems=("a", "b")) == [(A, C), (B, D)]


def test_where_each_side_has_one_system_its_name_may_have_changed():
    assert pair_groups([A, B], [C, D]) == [(A, C), (B, D)]
    assert pair_groups([A, B], [C, D], policies=("gold", "pred")) == [(A, D)]


def test_what_is_not_there_is_said_with_the_nearest_name():
    with pytest.raises(InputError, match='no policy "gld"; did you mean "gold"'):
        pair_groups([A], [A], policies=("gld", "gold"))
    with pytest.raises(InputError, match='no system "c"'):
        select_groups([A, B], ["c"], [])
    with pytest.raises(InputError, match="nothing to compare"):
        pair_groups([A], [B])


def test_groups_can_be_selected():
    assert select_groups([A, B, C, D], ["a"], []) == [A, B]
    assert select_groups([A, B, C, D], [], ["pred"]) == [B, D]


def test_a_comma_inside_brackets_parts_no_names():
    assert two_names("replace(always=True,n=2), gold", "--policies") == ("replace(always=True,n=2)", "gold")
    for text in ("gold", "a,b,c", "a,"):
        with pytest.raises(InputError, match="two names"):
            two_names(text, "--policies")
