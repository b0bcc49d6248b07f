"""What the logins of two variants agreed on differently, although their specs do not ask for that."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from sshload_operator.api.comparison.spec import ComparisonSpec
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.comparison import TestRun, negotiated_in
from sshload_operator.planning.differs import other_agreement


def other_logins(spec: ComparisonSpec, tests: Sequence[TestRun]) -> str:
    """Return a caution on each variant whose logins were others than those of its reference; empty for none.

    Another key exchange alone can be most of what a login costs. What the specs of the two say differently of a part
    of the login is what is compared, and no reason for a caution.
    """
    found = "; ".join(_others(spec, tests))
    if not found:
        return ""
    return f". Caution: the figures include that logins differ in what no spec asks for: {found}"


def _others(spec: ComparisonSpec, tests: Sequence[TestRun]) -> Iterator[str]:
    by_name = {one.name: one for one in spec.variants}
    for variant in spec.variants[1:]:
        reference = by_name[spec.reference_of(variant)]
        ours, theirs = (negotiated_in(tests, one.name) for one in (variant, reference))
        here, there = (f"in {one.value or one.name}" for one in (variant, reference))
        for field, words in other_agreement(ours, theirs, here, there).items():
            if _ASKED[field](variant.spec) == _ASKED[field](reference.spec):
                yield words


def _lists(field: str) -> Callable[[LoadTestSpec], object]:
    """Return what reads the algorithms that a spec lists for the client and for sshd."""

    def read(spec: LoadTestSpec) -> object:
        return getattr(spec.client, field), spec.managed and getattr(spec.managed.sshd, field)

    return read


_ASKED: Final[Mapping[str, Callable[[LoadTestSpec], object]]] = MappingProxyType(
    {
        "kex": _lists("kex_algorithms"),
        "cipher": _lists("ciphers"),
        "mac": _lists("macs"),
        "host_key": _lists("host_key_algorithms"),
        "server_version": lambda spec: spec.managed.image if spec.managed else spec.target.identity,
    }
)
"""What a spec asks for in each field of an Agreement."""
