"""The circles of tests: how much of all that could be tested is, which one variable of the environment says."""

import os
from enum import Enum

VARIABLE = "SSHLOAD_TESTS"


class Circle(Enum):
    """How much is tested. Each circle has what the one before it has."""

    QUICK = "quick"
    """What takes little CPU: before each commit."""
    USUAL = "usual"
    """Each claim, with few examples: before each change is handed over."""
    ALL = "all"
    """Each claim with all its examples: at night, and before a release."""

    @property
    def marks(self) -> str:
        """Which tests it has, as an expression for pytest's `-m`; empty where it has all."""
        return {Circle.QUICK: "not full and not slow", Circle.USUAL: "not full", Circle.ALL: ""}[self]


CIRCLE = Circle(os.environ.get(VARIABLE, Circle.USUAL.value))
"""The circle of this process."""
