"""Fuzzes all targets, or those that are named, one after the other.

New inputs that reach new code stay in `.cache/fuzz` for the next time; `--keep` puts few that reach most of it
into the corpus that the unit tests replay. Exit code 1 says that something was found, and where it lies.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from shutil import rmtree
from types import FrameType
from typing import Any

from fuzz_corpus import FUZZ, targets
from gevent import monkey

_CACHE = FUZZ.parents[1] / ".cache/fuzz"
_ROOMS = ("contract", "gateway", "operator", "target", "worker")
_LONGEST_INPUT_BYTES = 200_000
_LONGEST_KEPT_BYTES = 8_000
_BYTES_FOR_A_LINE = 500
"""How many bytes of input a line that no shorter input runs through is worth."""

_PACKAGES = tuple(str(FUZZ.parents[1] / folder) for folder in ("contract", "gateway", "operator", "targets", "workers"))
_LIMITS = ("-timeout=20", "-rss_limit_mb=2000", f"-max_len={_LONGEST_INPUT_BYTES}", "-len_control=0")


def main() -> int:
    """Fuzz, and return the exit code."""
    monkey.patch_all()  # before any target imports ssl: Locust, which some import, patches it too late for others
    arguments = command_line(sys.argv[1:])
    found = [target for target in arguments.targets if _fuzz(target, arguments.seconds)]
    if arguments.keep:
        for target in arguments.targets:
            _keep(target)
    print(f"found something: {', '.join(found)}" if found else "found nothing")
    return 1 if found else 0


def command_line(words: Sequence[str]) -> argparse.Namespace:
    """Return what is asked for; `--keep` may stand between the time and the targets, as `make fuzz` puts it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int)
    parser.add_argument("targets", nargs="*", default=targets(*_ROOMS))
    parser.add_argument("--keep", action="store_true", help="keep the inputs that reach new code for the unit tests")
    asked = parser.parse_intermixed_args(words)
    if unknown := set(asked.targets) - set(targets(*_ROOMS)):
        parser.error(f"TARGETS: there is no {', '.join(sorted(unknown))}: write some of {', '.join(targets(*_ROOMS))}")
    return asked


def _fuzz(target: str, seconds: int) -> bool:
    """Fuzz one target, print a line about it, and return whether anything was found."""
    inputs, findings = _CACHE / target / "inputs", _CACHE / target / "findings"
    inputs.mkdir(parents=True, exist_ok=True)
    rmtree(findings, ignore_errors=True)
    findings.mkdir()
    for seed in import_module(f"fuzz_targets.{target}").seeds():
        (inputs / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    kept = FUZZ / "corpus" / target
    kept.mkdir(parents=True, exist_ok=True)
    said = _one(target, f"-max_total_time={seconds}", "-print_final_stats=1", str(inputs), str(kept))
    runs = re.search(r"number_of_executed_units: (\d+)", said)
    print(f"{target:24} {runs[1] if runs else 0:>10} inputs", *sorted(map(str, findings.iterdir())), flush=True)
    return any(findings.iterdir())


def _keep(target: str) -> None:
    """Put short inputs that run through lines of ours which none before does into the kept corpus."""
    check = import_module(f"fuzz_targets.{target}").check
    kept = FUZZ / "corpus" / target
    reached: set[tuple[str, int]] = set()
    for path in sorted((_CACHE / target / "inputs").iterdir(), key=lambda path: path.stat().st_size):
        data = path.read_bytes()
        lines = _lines(check, data) if len(data) <= _LONGEST_KEPT_BYTES else set()
        if len(lines - reached) * _BYTES_FOR_A_LINE > len(data):
            (kept / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
            reached |= lines


def _lines(check: Callable[[bytes], None], data: bytes) -> set[tuple[str, int]]:
    """Return the lines of our packages that a check of this input runs through."""
    found: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(_PACKAGES):
            return None
        if event == "line":
            found.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        check(data)
    finally:
        sys.settrace(None)
    return found


def _one(target: str, *arguments: str) -> str:
    """Run one target's fuzzer to its end, and return what it says. Where it fails, that is a finding."""
    findings = _CACHE / target / "findings"
    command = [sys.executable, str(FUZZ / "fuzz_one.py"), target, str(findings), *_LIMITS]
    done = subprocess.run(
        [*command, f"-artifact_prefix={findings}/", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        (findings / "output.txt").write_text(done.stdout, encoding="utf-8")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
