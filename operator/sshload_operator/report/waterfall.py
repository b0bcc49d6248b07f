"""The parts of one iteration in sequence, each with its mean duration."""

import sys
from collections.abc import Sequence
from typing import Any, Final

from sshload_contract.steps import TIMINGS, WHOLE_STEPS
from sshload_contract.vocabulary import Timing, is_of_jump_host, jump_host_of

from sshload_operator.api.status.results import Results
from sshload_operator.api.status.steps import StepResult

_PARTS: Final = frozenset(TIMINGS) - {*WHOLE_STEPS, Timing.START_DELAY, Timing.GATEWAY_LOGIN}
_LOGIN: Final = frozenset(map(str, (Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, Timing.TLS)))
_HELD: Final = "held."


def waterfall(results: Results) -> list[dict[str, Any]]:
    """Return the parts in the order in which they happen: logins at jump hosts, the login, then the steps.

    Each begins where the one before ends, except a first byte, which is a part of the read after it. Means are shown
    because only means add up. They do not add up for parts that fail often, or that happen more than once in an
    iteration.
    """
    steps = results.all_steps
    parts = sorted(filter(_is_part, steps), key=_place(steps))
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
        if part.step.rpartition(".")[2] != Timing.FIRST_BYTE:
            begin_ms = min(begin_ms + (part.mean_ms or 0.0), sys.float_info.max)
    return shown


def _is_part(step: StepResult) -> bool:
    timing = step.step.rpartition(".")[2]
    return timing in _PARTS and step.mean_ms is not None and not step.step.startswith(_HELD)


def _place(steps: Sequence[StepResult]) -> Any:
    """Return the key that sorts parts: named steps keep the order of the results."""
    prefixes = list(dict.fromkeys(step.step.rpartition(".")[0] for step in steps))

    def key(step: StepResult) -> tuple[int, int, int, int]:
        prefix, _, timing = step.step.rpartition(".")
        if is_of_jump_host(step.step):
            return 0, jump_host_of(step.step), 0, TIMINGS.index(timing)
        own_login = not prefix and timing in _LOGIN
        return 1 if own_login else 2, 0, prefixes.index(prefix), TIMINGS.index(timing)

    return key
