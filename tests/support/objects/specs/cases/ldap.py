"""Accounts of a managed target in LDAP."""

from typing import Any

from specs.bad import Bad, bad
from specs.small import SMALL
from specs.spec import Spec, changed

_LDAP = "target.managed.system.ldap"
_SYSTEM: Spec = changed(SMALL, "target.managed.system", {"users": 3})


def _bad(name: str, value: Any, says: str = "") -> Bad:
    return bad(f"{_LDAP}.{name}", value, says=says, base=changed(_SYSTEM, _LDAP, {}))


BAD: dict[str, Bad] = {
    "ldap-with-another-cache": _bad("cache", "lukewarm", "cold"),
    "ldap-that-keeps-nothing": _bad("entryCacheTimeout", "0s"),
    "ldap-that-keeps-for-milliseconds": _bad("entryCacheTimeout", "1500ms"),
    "ldap-that-waits-for-ever": _bad("searchTimeout", "1h"),
    "ldap-offline-for-no-time": _bad("offlineTimeout", "0s"),
    "ldap-with-another-scheme": _bad("pamInitgroupsScheme", "sometimes", "no_session"),
    "ldap-with-a-pause-of-no-beginning": bad(
        f"{_LDAP}.pause", {"for": "3s"}, says="after", base=changed(_SYSTEM, _LDAP, {})
    ),
    "ldap-with-a-pause-of-no-end": bad(f"{_LDAP}.pause", {"after": "3s"}, says="for", base=changed(_SYSTEM, _LDAP, {})),
}

GOOD: dict[str, Spec] = {
    "accounts-in-ldap": changed(_SYSTEM, _LDAP, {"cache": "cold"}),
}
