"""Which tests are the nearest of each module that is mutated, and which modules are."""

from collections.abc import Mapping

NEAREST: Mapping[str, tuple[str, ...]] = {
    "operator/sshload_operator/control/live": ("tests/unit/operator/wiring/test_live_objects.py","tests/unit/operator/wiring/test_live_owners.py","tests/unit/operator/wiring/test_live_schedules.py","tests/unit/operator/wiring/test_live_comparisons.py","tests/unit/operator/wiring/test_tests_that_wait.py"),
    "contract/sshload_contract/judgement": ("tests/unit/contract", "tests/unit/operator/verdict"),
}
MUTATED = tuple(NEAREST)


def nearest(path: str) -> tuple[str, ...]:
    """Return the nearest tests of a module: those of the longest entry that it is below."""
    entry = max((entry for entry in NEAREST if path.startswith(entry)), key=len)
    return NEAREST[entry]
