"""What one would not expect, as sentences: each is made of figures, and none stands where they are missing."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import measurements as what
from figures import Value, value_of
from measurements import Measurement
from results import Results

_OPENSSH = "OpenSSH"
_FEWEST = 2


def surprises(results: Results) -> Sequence[str]:
    """Return the sentences, each with its subject first."""
    return [sentence for told in (_logins, _versions, _exchanges, _keys, _memory, _sftp) for sentence in told(results)]


def _values(results: Results, measurement: Measurement) -> dict[str, Value]:
    """Return the figures by server, the least first."""
    values = {name: value_of(results, name, measurement) for name in results.servers}
    found = {name: value for name, value in values.items() if isinstance(value, Value)}
    return dict(sorted(found.items(), key=lambda one: one[1].mean))


def _means(results: Results, measurement: Measurement) -> dict[str, float]:
    return {name: value.mean for name, value in _values(results, measurement).items()}


def _are_apart(one: Value, other: Value) -> bool:
    """Return whether the intervals of two figures do not meet. Else a difference may be chance."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _logins(results: Results) -> Iterator[str]:
    means = _means(results, what.LOGIN_EQUAL)
    if len(means) >= _FEWEST:
        (least, cheap), *_, (most, dear) = means.items()
        yield (
            f"**A login costs {_times(dear / cheap)} at {most} what it costs at {least}**: {_ms(dear)} of CPU against "
            f"{_ms(cheap)}, by the same algorithms."
        )


def _versions(results: Results) -> Iterator[str]:
    values = _values(results, what.LOGIN_EQUAL)
    names = [name for name in results.servers if name in values and name.startswith(_OPENSSH)]
    if any(_are_apart(values[one], values[other]) for one, other in combinations(names, 2)):
        told = ", ".join(f"{_ms(values[name].mean)} at {name.removeprefix(_OPENSSH).strip()}" for name in names)
        yield f"**A login's price changes with OpenSSH's version**: {told}."


def _exchanges(results: Results) -> Iterator[str]:
    for hybrid, plain, name, whose in (
        (what.LOGIN_MLKEM, what.LOGIN_EQUAL, "mlkem768x25519", ""),
        (what.LOGIN_SNTRUP, what.LOGIN_OPENSSH, "sntrup761x25519", " (`ssh` as the client)"),
    ):
        added = _differences(results, hybrid, plain)
        if added:
            (least, low), *others = added.items()
            most, high = others[-1] if others else (least, low)
            span = (
                f"from {_signed(low)} at {least} to {_signed(high)} at {most}"
                if others
                else f"{_signed(low)} at {least}"
            )
            yield f"**{name} adds to a login's CPU at the server**, beside curve25519{whose}: {span}."


def _keys(results: Results) -> Iterator[str]:
    added = _differences(results, what.LOGIN_RSA, what.LOGIN_EQUAL)
    if len(added) >= _FEWEST:
        (least, low), *_, (most, high) = added.items()
        yield (
            f"**A host key of RSA adds to a login's CPU**, beside Ed25519: from {_signed(low)} at {least} to "
            f"{_signed(high)} at {most}."
        )


def _memory(results: Results) -> Iterator[str]:
    means = _means(results, what.HOLD)
    if len(means) >= _FEWEST:
        (least, small), *_, (most, large) = means.items()
        yield f"**An idle session takes {large:.2f} MB at {most}, and {1000 * small:.0f} kB at {least}.**"


def _sftp(results: Results) -> Iterator[str]:
    logins, reads = _means(results, what.LOGIN_EQUAL), list(_means(results, what.SFTP_READ))[::-1]
    both = [name for name in logins if name in reads]
    if len(both) < _FEWEST:
        return
    climber = max(both, key=lambda name: list(logins).index(name) - reads.index(name))
    login_place, read_place = list(logins).index(climber) + 1, reads.index(climber) + 1
    if login_place > read_place:
        yield (
            f"**Who is slow at logins may be fast at files**: {climber} is number {login_place} of {len(logins)} by "
            f"the price of a login, number {read_place} of {len(reads)} by what a core reads over SFTP."
        )


def _differences(results: Results, one: Measurement, other: Measurement) -> dict[str, float]:
    """Return by how much a figure is more than the other at each server where the two can be told apart."""
    ones, others = _values(results, one), _values(results, other)
    both = {name: (ones[name], others[name]) for name in ones if name in others}
    added = {name: here.mean - there.mean for name, (here, there) in both.items() if _are_apart(here, there)}
    return dict(sorted(added.items(), key=lambda pair: pair[1]))


def _times(ratio: float) -> str:
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.3g} ms"


def _signed(milliseconds: float) -> str:
    return f"{milliseconds:+.2f} ms"
