"""What speaks against asking a question."""

from replay.synthesis.questions.faults import fault_of
from tests.data_tables import from_table
from tests.synthesis.questions.test_sentences import facts


@from_table
def test_what_speaks_against_a_question_is_said(sentence, fault):
    fact, *_ = facts(sentence)
    assert fault_of(fact) == fault
