"""The inputs that fuzzing has kept: each of them still passes its target's oracle. Workers' targets are with theirs."""

import pytest
from fuzz_corpus import attack, replay, targets


@pytest.mark.slow
@pytest.mark.parametrize("target", targets("contract", "operator", "target"))
def test_all_that_was_kept_passes_the_oracle(target: str) -> None:
    assert replay(target)


@pytest.mark.slow
@pytest.mark.parametrize("target", targets("contract", "operator", "target"))
def test_no_input_takes_more_time_than_its_length_explains(target: str) -> None:
    assert attack(target) == {}
