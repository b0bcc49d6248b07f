"""How many examples a test draws: few where tests are run by everybody, many where everything is tested."""

from testing.circles import CIRCLE, Circle


def draws(few: int, many: int) -> int:
    """Return how many examples to draw: `many` of them in `make test-all`, else `few`."""
    return many if CIRCLE is Circle.ALL else few
