"""The parts of one iteration in sequence, each with its mean duration."""

import sys
from collections.abc import Collection, Sequence
from typing import Any, Final

from sshload_contract.steps import TIMINGS, WHOLE_STEPS
from sshload_contract.vocabulary import PARTS_OF_AUTH, Timing, is_of_jump_host, jump_host_of, owner_and_timing

from sshload_operator.api.status.results import Results
from sshload_operator.api.status.steps import StepResult

_SUMS: Final = {*WHOLE_STEPS, Timing.START_DELAY, Timing.GATEWAY_LOGIN, Timing.AUTH_KEYBOARD_INTERACTIVE}
_PARTS: Final = frozenset(TIMINGS) - _SUMS - {Timing.AUTH_KDC}
_LOGIN: Final = frozenset({Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, *PARTS_OF_AUTH, Timing.TLS})
_HELD: Final = "held."


def waterfall(results: Results) -> list[dict[str, Any]]:
    """Return the parts in the order in which they happen: logins at jump hosts, the login, then the steps.

    Each begins where the one before ends, except a first byte, which is a part of the read after it. Means are shown
    because only means add up. They do not add up for parts that fail often, or that happen more than once in an
    iteration.
    """
    steps = results.all_steps
    in_parts = {owner for owner, timing in map(_owner_and_timing, steps) if timing in PARTS_OF_AUTH}
    parts = sorted((one for one in steps if _is_part(one, in_parts)), key=_place(steps))
    shown, begin_ms = [], 0.0
    for part in parts:
        shown.append(
            {
                "step": part.step,
                "beginMs": round(begin_ms, 3),
                "meanMs": part.mean_ms,
                "p50Ms": part.percentile_ms(50),
                "p99Ms": part.percentile_ms(99),
                "count": part.count,
            }
        )
        if owner_and_timing(part.step)[1] != Timing.FIRST_BYTE:
            begin_ms = min(begin_ms + (part.mean_ms or 0.0), sys.float_info.max)
    return shown


def _owner_and_timing(step: StepResult) -> tuple[str, str]:
    return owner_and_timing(step.step)


def _is_part(step: StepResult, in_parts: Collection[str]) -> bool:
    """Return whether a step is shown: authentication by its parts, for owners that have these."""
    owner, timing = owner_and_timing(step.step)
    if timing == Timing.AUTH and owner in in_parts:
        return False
    return timing in _PARTS and step.mean_ms is not None and not step.step.startswith(_HELD)


def _place(steps: Sequence[StepResult]) -> Any:
    """Return the key that sorts parts: named steps keep the order of the results."""
    prefixes = list(dict.fromkeys(owner_and_timing(step.step)[0] for step in steps))

    def key(step: StepResult) -> tuple[int, int, int, int]:
        prefix, timing = owner_and_timing(step.step)
        if is_of_jump_host(step.step):
            return 0, jump_host_of(step.step), 0, TIMINGS.index(timing)
        own_login = not prefix and timing in _LOGIN
        return 1 if own_login else 2, 0, prefixes.index(prefix), TIMINGS.index(timing)

    return key
