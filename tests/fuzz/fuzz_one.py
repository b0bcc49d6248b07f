"""Runs one fuzz target with atheris:   fuzz_one.py ROOM.NAME FINDINGS [libFuzzer's own arguments].

An input that breaks the target's oracle is written to the folder FINDINGS, with the traceback beside it, once for each
place in the code that raises; the fuzzer goes on. One that takes too long or too much memory ends it.
"""

import hashlib
import re
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import atheris
from gevent import monkey

Check: TypeAlias = Callable[[bytes], None]
Mutate: TypeAlias = Callable[[bytes, int], bytes]

_OURS = ["sshload_contract", "sshload_operator", "sshload_worker", "sshload_target"]
_MESSAGE_CHARACTERS = 80
_SHARE_OF_BYTES = 0.2
"""How often a JSON text is changed as bytes, which seldom leaves it JSON."""


def main(name: str, findings: Path, arguments: list[str]) -> None:
    """Fuzz until libFuzzer's arguments say that it is enough."""
    monkey.patch_all()  # before any target imports ssl: Locust, which some import, patches it too late for others
    atheris.enabled_hooks.add("str")
    with atheris.instrument_imports(include=_OURS):
        target = import_module(f"fuzz_targets.{name}")
    mutate = getattr(target, "mutate", None)
    setup: dict[str, Any] = {} if mutate is None else {"custom_mutator": _mutator(mutate)}
    atheris.Setup([sys.argv[0], *arguments], _going_on(target.check, findings), **setup)
    atheris.Fuzz()


def _going_on(check: Check, findings: Path) -> Check:
    """Return the check, which keeps what it finds and raises nothing."""
    known: set[str] = set()

    def checked(data: bytes) -> None:
        try:
            check(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} at {place.filename}:{place.lineno}: {_kind_of(str(error))}"
            if what not in known:
                known.add(what)
                path = findings / hashlib.sha256(what.encode()).hexdigest()[:12]
                path.write_bytes(data)
                path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
                print(f"FOUND {what}: {path}", flush=True)  # noqa: T201 - for who watches

    return checked


def _kind_of(message: str) -> str:
    """Return the beginning of a message without what differs from input to input."""
    return re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "", message)[:_MESSAGE_CHARACTERS]


def _mutator(mutate: Mutate) -> Callable[[bytes, int, int], bytes]:
    def mutated(data: bytes, max_size: int, seed: int) -> bytes:
        if Random(seed).random() < _SHARE_OF_BYTES:  # noqa: S311 - nothing is secret here
            return bytes(atheris.Mutate(data, max_size))
        changed = mutate(data, seed)
        return changed if len(changed) <= max_size else data

    return mutated


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
