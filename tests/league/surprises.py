"""What one would not expect, as sentences: each is made of figures, and none stands where they are missing."""

from collections.abc import Iterator, Sequence

import measurements as what
from figures import Value, value_of
from measurements import Measurement
from results import Results

_OPENSSH = "OpenSSH"
_FEWEST = 2


def surprises(results: Results) -> Sequence[str]:
    """Return the sentences, each with its subject first."""
    return [sentence for told in (_logins, _versions, _exchanges, _keys, _memory, _sftp) for sentence in told(results)]


def _means(results: Results, measurement: Measurement) -> dict[str, float]:
    """Return the means by server, the least first."""
    values = {name: value_of(results, name, measurement) for name in results.servers}
    means = {name: value.mean for name, value in values.items() if isinstance(value, Value)}
    return dict(sorted(means.items(), key=lambda one: one[1]))


def _logins(results: Results) -> Iterator[str]:
    means = _means(results, what.LOGIN_EQUAL)
    if len(means) >= _FEWEST:
        (least, cheap), *_, (most, dear) = means.items()
        yield (
            f"**A login costs {_times(dear / cheap)} at {most} what it costs at {least}**: {_ms(dear)} of CPU against "
            f"{_ms(cheap)}, by the same algorithms."
        )


def _versions(results: Results) -> Iterator[str]:
    means = {name: mean for name, mean in _means(results, what.LOGIN_EQUAL).items() if name.startswith(_OPENSSH)}
    names = [name for name in results.servers if name in means]
    if len(names) >= _FEWEST:
        told = ", ".join(f"{_ms(means[name])} at {name.removeprefix(_OPENSSH).strip()}" for name in names)
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
    ones, others = _means(results, one), _means(results, other)
    added = {name: ones[name] - others[name] for name in ones if name in others}
    return dict(sorted(added.items(), key=lambda pair: pair[1]))


def _times(ratio: float) -> str:
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.3g} ms"


def _signed(milliseconds: float) -> str:
    return f"{milliseconds:+.2f} ms"
