"""The kept inputs of each fuzz target, replayed without a fuzzer, and inputs that attack the time of its parser."""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from time import thread_time

FUZZ = Path(__file__).parents[2] / "fuzz"


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


MOST_CPU_S = 0.5
"""What a target may take for one attack: 50 ms of a parser, and its oracle, on a machine five times as slow."""

_MOST_GROWTH = 3.0
"""What takes longer, on a slow machine, may take twice as long for an attack of twice the length, not four times."""

_ATTACK_BYTES = 65_536
_REPEATED = (
    b" ", b"\n", b"a", b"\xff", b"9", b"9.", b"0x", b"-", b"_", b"[", b"{", b'{"a":', b'"', b"\\", b"/", b"*", b"?",
    b"|", b"a,", b"a=", b": ", b"1h", b"* ", b"@", b"&a", b"<<", b"from ", b"a.", b"%", b"\r",
)  # fmt: skip
"""What makes parsers slow in long rows: blanks, digits, brackets, escapes, separators, units, anchors."""


def _attacks(seed: bytes, length: int) -> Iterator[bytes]:
    """Yield long rows by themselves, and behind, within and in place of parts of an honest input."""
    word = re.search(rb"[A-Za-z]{3,}", seed)
    number = re.search(rb"[0-9]+", seed)
    yield seed * (length // max(len(seed), 1))
    for unit in _REPEATED:
        row = unit * (length // len(unit))
        yield seed + row
        if word:
            yield seed[: word.end()] + row + seed[word.end() :]
        if number:
            yield seed[: number.start()] + row + seed[number.end() :]


def attack(target: str) -> dict[bytes, float]:
    """Return each attack on a target that took too much CPU time, by its beginning, with the seconds."""
    check = import_module(f"fuzz_targets.{target}").check
    kept = sorted((path.read_bytes() for path in (FUZZ / "corpus" / target).iterdir()), key=len)
    seed = kept[len(kept) // 2]
    slow = {}
    for said, half in zip(_attacks(seed, _ATTACK_BYTES), _attacks(seed, _ATTACK_BYTES // 2), strict=True):
        took_s = _cpu_s(check, said)
        if took_s > MOST_CPU_S and _least_cpu_s(check, said) > _MOST_GROWTH * _least_cpu_s(check, half):
            slow[said[:80]] = took_s
    return slow


def _least_cpu_s(check: Callable[[bytes], object], said: bytes) -> float:
    return min(_cpu_s(check, said) for _ in range(3))


def _cpu_s(check: Callable[[bytes], object], said: bytes) -> float:
    begin_s = thread_time()
    check(said)
    return thread_time() - begin_s
