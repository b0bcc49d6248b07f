"""Every SSHLoadTest spec there is for tests, by name: whole ones, small changes that are good, and bad ones."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from specs.bad import Bad
from specs.external import (
    EXTERNAL_BURST,
    EXTERNAL_CERTIFICATES,
    EXTERNAL_HOLD,
    EXTERNAL_PROMPTS,
    EXTERNAL_USERS,
    USERS_OF_A_SECRET,
    USERS_WITH_NUMBERS,
)
from specs.gateway import GATEWAY, MANAGED_GATEWAY
from specs.kerberos import EXTERNAL_TICKETS, MANAGED_KDC
from specs.ldap import MANAGED_LDAP
from specs.managed import LOCUSTFILE, MANAGED_ARRIVALS, MANAGED_PERMITTED, MANAGED_RSYNC, MANAGED_STEPS
from specs.relative import RELATIVE
from specs.search import SEARCHES
from specs.small import LINKS_AND_LIMITS, MIXED, REPLAY, SMALL, WAVE
from specs.spec import Spec
from specs.system import MANAGED_SYSTEM

Row = TypeVar("Row")


def _joined(tables: Iterable[Mapping[str, Row]]) -> dict[str, Row]:
    """Return one table of all rows; no name may stand twice, for one of its rows would be lost."""
    rows = [row for table in tables for row in table.items()]
    joined = dict(rows)
    assert len(joined) == len(rows), "a name stands in two tables of cases"
    return joined


# Every file of the folder, so that none can be forgotten.
_CASES: list[Any] = [
    import_module(f"specs.cases.{file.stem}") for file in sorted(Path(__file__).with_name("cases").glob("*.py"))
]

WHOLE: dict[str, Spec] = {
    "small": SMALL,
    "links-and-limits": LINKS_AND_LIMITS,
    "managed-steps": MANAGED_STEPS,
    "external-hold": EXTERNAL_HOLD,
    "locustfile": LOCUSTFILE,
    "replay": REPLAY,
    "wave": WAVE,
    "alternatives": MIXED,
    "managed-arrivals": MANAGED_ARRIVALS,
    "managed-permitted": MANAGED_PERMITTED,
    "managed-rsync": MANAGED_RSYNC,
    "external-users": EXTERNAL_USERS,
    "external-burst": EXTERNAL_BURST,
    "external-certificates": EXTERNAL_CERTIFICATES,
    "external-prompts": EXTERNAL_PROMPTS,
    "external-tickets": EXTERNAL_TICKETS,
    "managed-kdc": MANAGED_KDC,
    "population-of-a-secret": USERS_OF_A_SECRET,
    "population-with-numbers": USERS_WITH_NUMBERS,
    **SEARCHES,
    "relative": RELATIVE,
    "gateway": GATEWAY,
    "managed-gateway": MANAGED_GATEWAY,
    "managed-system": MANAGED_SYSTEM,
    "managed-ldap": MANAGED_LDAP,
}
GOOD: dict[str, Spec] = _joined([WHOLE, *(cases.GOOD for cases in _CASES)])
BAD: dict[str, Bad] = _joined(cases.BAD for cases in _CASES)
