"""The inputs that fuzzing has kept of workers' targets: each of them still passes its target's oracle."""

import pytest
from fuzz_corpus import replay, targets


@pytest.mark.parametrize("target", targets("gateway"))
def test_all_that_was_kept_passes_the_oracle(target: str) -> None:
    assert replay(target)
