"""Runs each kind of object under each fault, and prints a table of cases, runs and outcomes.

Exit code 1 says that a run had a wrong end; what was wrong is printed as it is found.
"""

import argparse
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from api_server import ApiServer, api_server
from chaos_cases import Case, cases
from chaos_faults import Heard
from chaos_fields import OUTCOMES as FIELD_OUTCOMES
from chaos_fields import Found, change_fields
from chaos_kinds import KINDS, Kind
from chaos_oracles import EXCUSED, OUTCOMES, WRONG, Outcome, judged, problems
from chaos_run import Run, run

FIELDS = "fields"
_SHOWN_LINES = 12


def main() -> int:
    """Run what the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, FIELDS, []], help="the kinds to run, and the fields (all)")
    parser.add_argument(
        "--only", default="", help="only cases in whose family and name this regular expression is found"
    )
    parser.add_argument("--every", type=int, default=1, help="only each so-manieth case (1)")
    parser.add_argument("--at-once", type=int, default=6, help="how many runs go on side by side (6)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began = time.monotonic()
    table: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory(prefix="sshload-chaos-") as folder, api_server(_made(folder, "server")) as server:
        chosen = arguments.kinds or [*KINDS, FIELDS]
        for name in filter(KINDS.__contains__, chosen):
            _run_kind(server, KINDS[name], arguments, Path(folder), table)
        fields = change_fields(server, _made(folder, FIELDS), arguments.every) if FIELDS in chosen else Found()
    for words in fields.wrong:
        print(f"wrong: {words}")
    _print("fault", table, OUTCOMES)
    _print("fields of", Counter({("", *key): count for key, count in fields.counts.items()}), FIELD_OUTCOMES)
    wrong = len(fields.wrong) + sum(count for (_, _, outcome), count in table.items() if outcome == WRONG)
    changes = fields.counts.total()
    print(
        f"{table.total()} runs and {changes} changes of fields, {wrong} wrong ends, in {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


def _run_kind(
    server: ApiServer, kind: Kind, arguments: argparse.Namespace, folder: Path, table: Counter[tuple[str, str, str]]
) -> None:
    heard = Heard()
    reference = run(server, kind, heard, _made(folder, f"{kind.name}-reference"))
    again = run(server, kind, Heard(), _made(folder, f"{kind.name}-again"))
    found = [*problems(reference, again)]
    if found:
        raise SystemExit(f"{kind.name}: two runs without a fault differ: {found}\n{again.log}")
    chosen = [case for case in cases(reference, heard) if re.search(arguments.only, f"{case.family}: {case}")]

    chosen = chosen[:: arguments.every]

    def run_case(numbered: tuple[int, Case]) -> None:
        number, case = numbered
        fault = case.fault()
        own = _made(folder, f"{kind.name}-{number}")
        done = run(server, kind, fault, own)
        shutil.rmtree(own)
        outcome = judged(reference, done, fault)
        table[kind.name, case.family, outcome.word] += 1
        _say(f"{kind.name}: {case}", outcome, done)
        if not number % 50:
            print(f"{kind.name}: {number} of {len(chosen)}", flush=True)

    pool = ThreadPoolExecutor(arguments.at_once)
    try:
        list(pool.map(run_case, enumerate(chosen)))
    finally:
        pool.shutdown(cancel_futures=True)


def _say(what: str, outcome: Outcome, done: Run) -> None:
    if outcome.word == WRONG:
        lines = [line[:300] for line in done.log.splitlines() if " INFO " not in line]
        print(f"{outcome.word}: {what}", *outcome.said, *lines[:_SHOWN_LINES], sep="\n    ", flush=True)
    elif outcome.word == EXCUSED:
        print(f"{outcome.word}: {what}: {outcome.said[0]}", flush=True)


def _made(folder: str | Path, name: str) -> Path:
    made = Path(folder, name)
    made.mkdir()
    return made


def _print(what: str, table: Counter[tuple[str, str, str]], outcomes: Sequence[str]) -> None:
    rows = dict.fromkeys((kind, row) for kind, row, _ in table)
    if not rows:
        return
    print(f"\n{'':12}{what:28}{'runs':>6}" + "".join(f"{outcome:>25}" for outcome in outcomes))
    for kind, row in rows:
        found = [table[kind, row, outcome] for outcome in outcomes]
        print(f"{kind:12}{row:28}{sum(found):>6}" + "".join(f"{count:>25}" for count in found))


if __name__ == "__main__":
    sys.exit(main())
