"""What a comparison found, in a sentence for each variant."""

from collections.abc import Iterator, Sequence

from sshload_operator.decision.comparison.compare import Compared
from sshload_operator.decision.comparison.figures import CAPACITY, COMPLETED_RATE, ERROR_PERCENT, split
from sshload_operator.decision.comparison.words import Difference

_SAID = 3
# What is said first, where it differs.
_WEIGHT = (
    CAPACITY,
    ERROR_PERCENT,
    COMPLETED_RATE,
    "total.p50Ms",
    "total.p99Ms",
    "total.p90Ms",
    "login.p50Ms",
    "cpuPerLoginMs",
)


def sentence(variant: str, first: str, found: Sequence[Compared]) -> str:
    """Return what is to be said of a variant beside the first one."""
    judged = [one for one in found if one.difference is not Difference.UNKNOWN]
    differing = sorted((one for one in judged if one.difference is not Difference.NONE), key=_rank)
    if not judged:
        return f"{variant} cannot be compared with {first}"
    if not differing:
        return f"{variant} shows no difference from {first} in {_figures(len(judged))}"
    said = "; ".join(figure_text(one) for one in differing[:_SAID])
    rest = f" and in {len(differing) - _SAID} more" if len(differing) > _SAID else ""
    alike = len(judged) - len(differing)
    none = f", no difference in the other {alike}" if alike else ""
    survivors = "".join(_survivors(differing))
    return (
        f"{variant} differs from {first} in {len(differing)} of {_figures(len(judged))}: {said}{rest}{none}{survivors}"
    )


def figure_text(one: Compared) -> str:
    """Return one difference in words: `login p50 2.10 times (1.90 to 2.31)`."""
    step, figure = split(one.key)
    name = f"{step} {figure.removesuffix('Ms')}" if step else figure
    if one.mean is None or one.low is None or one.high is None:
        return name
    if one.in_points:
        return f"{name} {one.mean:+.3g} points ({one.low:+.3g} to {one.high:+.3g})"
    return f"{name} {one.mean:.3g} times ({one.low:.3g} to {one.high:.3g})"


def _survivors(differing: Sequence[Compared]) -> Iterator[str]:
    if any(one.key == ERROR_PERCENT for one in differing):
        yield ". Latencies are of successes only, and these are not the same share of both"


def _rank(one: Compared) -> tuple[int, str]:
    return (_WEIGHT.index(one.key), "") if one.key in _WEIGHT else (len(_WEIGHT), one.key)


def _figures(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"
