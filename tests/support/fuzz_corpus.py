"""The kept inputs of each fuzz target, which the unit tests replay without a fuzzer."""

from importlib import import_module
from pathlib import Path

FUZZ = Path(__file__).parents[1] / "fuzz"


def targets(*rooms: str) -> list[str]:
    """Return the names of the fuzz targets of these rooms, as `contract.master_log`."""
    return sorted(f"{room}.{path.stem}" for room in rooms for path in (FUZZ / "fuzz_targets" / room).glob("*.py"))


def replay(target: str) -> int:
    """Hold each kept input of a target against its oracle, and return how many there are."""
    check = import_module(f"fuzz_targets.{target}").check
    kept = sorted((FUZZ / "corpus" / target).iterdir())
    for path in kept:
        try:
            check(path.read_bytes())
        except Exception as error:
            error.add_note(f"the input is {path}")
            raise
    return len(kept)
