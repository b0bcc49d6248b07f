import pytest
from sshload_operator.control.posting import is_taken


@pytest.mark.parametrize(("status", "taken"), [(199, False), (200, True), (299, True), (300, False), (404, False)])
def test_an_answer_of_success_alone_says_that_it_was_taken(status: int, *, taken: bool) -> None:
    assert is_taken(status) is taken
