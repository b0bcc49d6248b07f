"""MaxStartups of sshd_config(5), and sshd's rule for dropping a connection."""

import re
from dataclasses import dataclass

from sshload_operator.api.spec import Sshd

_THREE = re.compile(r"\s*(\d+):(\d+):(\d+)\s*")
_ONE = re.compile(r"\s*(\d+)\s*")
_DEFAULT_RATE = 30
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class MaxStartups:
    """`start:rate:full`: from `start` unauthenticated connections on, sshd drops `rate` % of the new ones.

    The share grows linearly to all of them at `full`. `start` is at most `full`, `rate` 1 to 100.
    """

    start: int
    rate: int
    full: int

    def __str__(self) -> str:
        return f"{self.start}:{self.rate}:{self.full}"

    def drop_percent(self, unauthenticated: int) -> int:
        """Return the probability in whole percent with which a connection is dropped that finds so many.

        It is should_drop_connection in sshd.c of OpenSSH, which is the same in 8.4 to 10.5: in integers, so that the
        quotient is cut off, and compared with a random number from 0 to 99.
        """
        if unauthenticated < self.start:
            return 0
        if unauthenticated >= self.full or self.rate == _PERCENT:
            return _PERCENT
        grown = (_PERCENT - self.rate) * (unauthenticated - self.start) // (self.full - self.start)
        return grown + self.rate

    def drop_share(self, unauthenticated: int) -> float:
        """Return the same as a share."""
        return self.drop_percent(unauthenticated) / _PERCENT


DEFAULT = MaxStartups(10, _DEFAULT_RATE, 100)
"""fill_default_server_options in servconf.c."""


def setting_of(sshd: Sshd) -> MaxStartups | None:
    """Return the setting that a managed sshd runs with; None where an extra directive is none that we can read."""
    extra = {keyword.lower(): value for keyword, value in sshd.extra_config.items()}
    text = extra.get("maxstartups", sshd.max_startups)
    return DEFAULT if text is None else read(text)


def read(text: str) -> MaxStartups | None:
    """Return the setting as sshd reads it: one number stands for `start` and `full`. None where it would not."""
    if one := _ONE.fullmatch(text):
        start, rate, full = int(one[1]), _DEFAULT_RATE, int(one[1])
    elif three := _THREE.fullmatch(text):
        start, rate, full = (int(number) for number in three.groups())
    else:
        return None
    return MaxStartups(start, rate, full) if 1 <= start <= full and 1 <= rate <= _PERCENT else None
