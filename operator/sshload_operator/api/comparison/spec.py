"""ComparisonSpec: the spec of an SSHLoadTestComparison as values. `parse.parse_comparison` makes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sshload_operator.api.spec import LoadTestSpec

TEST_NAME_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the sides: its name, the whole spec of its tests as it is written to them, and the same as values."""

    name: str
    body: Mapping[str, Any]
    spec: LoadTestSpec


@dataclass(frozen=True, slots=True)
class ComparisonSpec:
    """A whole SSHLoadTestComparison spec. The others are compared with the first variant, over `repeats` rounds.

    In every round each variant is tested once.
    """

    variants: tuple[Variant, ...]
    repeats: int
    abort: bool


def test_name(comparison: str, round_number: int, variant: str) -> str:
    """Return the name of one test of a comparison: at most 40 characters, which the CRD and the parser see to."""
    return f"{comparison}-{round_number}-{variant}"
