"""check_name: which names a test may have."""

import pytest
from sshload_operator.api.errors import SpecError
from sshload_operator.api.load_test import check_name


@pytest.mark.parametrize("name", ["a", "a" * 40, "a-1"])
def test_a_name_of_at_most_forty_characters_passes(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "a" * 41, "a.b", "1a", "a-", "A", "a\n"])
def test_a_name_that_the_names_of_pods_cannot_be_made_from_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match=r"metadata\.name: is"):
        check_name(name)
