"""What the logins of two variants agreed on differently, although their specs do not ask for that."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sshload_operator.api.comparison.spec import ComparisonSpec
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.comparison import TestRun, negotiated_in
from sshload_operator.planning.differs import other_agreement

_LISTS: Final[Mapping[str, str]] = {
    "kex": "kex_algorithms",
    "cipher": "ciphers",
    "mac": "macs",
    "host_key": "host_key_algorithms",
}
"""Where a spec lists algorithms for each field of an Agreement, for the client and for sshd."""


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
            if _asked(variant.spec, field) == _asked(reference.spec, field):
                yield words


def _asked(spec: LoadTestSpec, field: str) -> object:
    """Return what a spec asks for in a field of an Agreement."""
    if field == "server_version":
        return spec.managed.image if spec.managed else spec.target.identity
    listed = _LISTS[field]
    return getattr(spec.client, listed), spec.managed and getattr(spec.managed.sshd, listed)
