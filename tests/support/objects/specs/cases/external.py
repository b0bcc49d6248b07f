"""Servers that exist: an external target, and the jump hosts on the way to one."""

from specs.bad import Bad, bad
from specs.external import EXTERNAL_HOLD, EXTERNAL_USERS
from specs.small import SMALL
from specs.spec import Spec, changed

_BY_TICKETS = {"library": "asyncssh", "auth": "gssapi"}
_REALM = {"realms": [{"name": "EXAMPLE.ORG", "kdcs": [{"host": "kdc.example.org"}], "domains": [".example.org"]}]}

BAD: dict[str, Bad] = {
    "host-with-a-space": bad("target.external.host", "a b", base=EXTERNAL_USERS),
    "host-with-an-empty-label": bad("target.external.host", "a..b", base=EXTERNAL_USERS),
    "port-zero": bad("target.external.port", 0, base=EXTERNAL_USERS),
    "port-above-the-last": bad("target.external.port", 65536, base=EXTERNAL_USERS),
    "user-who-is-an-option": bad("target.external.user", "-oProxyCommand=x", base=EXTERNAL_USERS),
    "tickets-without-a-realm": bad("client", _BY_TICKETS, "spec.client.kerberos", base=EXTERNAL_USERS, says="realms"),
    "ticket-cache-of-a-password": bad("target.external.ticketCache", value=True, base=EXTERNAL_USERS),
    "host-keys-neither-known-nor-ignored": bad(
        "target.external.knownHostsSecretRef", None, base=EXTERNAL_USERS, says="insecureIgnoreHostKey"
    ),
    "host-keys-both-known-and-ignored": bad(
        "target.external.insecureIgnoreHostKey",
        value=True,
        field="spec.target.external.knownHostsSecretRef",
        base=EXTERNAL_USERS,
    ),
    "secret-in-place-of-its-name": bad("target.external.credentialsSecretRef", "bastion", base=EXTERNAL_USERS),
    "encrypted-key-of-a-password": bad("target.external.encryptedKey", value=True, base=EXTERNAL_USERS),
    "encrypted-key-of-a-jump-hosts-password": bad(
        "via.0.encryptedKey", value=True, field="spec.via[0].encryptedKey", base=EXTERNAL_HOLD
    ),
    "jump-host-by-tickets-without-a-realm": bad(
        "via",
        [{**EXTERNAL_HOLD["via"][0], "auth": "gssapi"}],
        "spec.client.kerberos",
        base=changed(EXTERNAL_HOLD, "client", {"library": "asyncssh"}),
    ),
    "jump-host-by-tickets-with-another-library": bad(
        "via",
        [{**EXTERNAL_HOLD["via"][0], "auth": "gssapi"}],
        base=changed(EXTERNAL_HOLD, "client", {"kerberos": _REALM}),
        says="asyncssh or openssh",
    ),
    "jump-host-without-a-user": bad("via", [{"host": "a"}], "spec.via[0].user", base=EXTERNAL_HOLD),
    "jump-host-without-host-keys": bad(
        "via.0.knownHostsSecretRef", None, "spec.via[0].knownHostsSecretRef", base=EXTERNAL_HOLD
    ),
    "jump-host-of-an-empty-label": bad("via.0.host", "a..b", "spec.via[0].host", base=EXTERNAL_HOLD),
    "too-many-jump-hosts": bad("via", EXTERNAL_HOLD["via"] * 3, base=EXTERNAL_HOLD),
}

GOOD: dict[str, Spec] = {
    "tickets": changed(EXTERNAL_USERS, "client", {**_BY_TICKETS, "kerberos": _REALM}),
    "ready-tickets": changed(
        changed(EXTERNAL_USERS, "client", {**_BY_TICKETS, "kerberos": {**_REALM, "freshTickets": True}}),
        "target.external.ticketCache",
        True,
    ),
    "address-for-a-host": changed(EXTERNAL_USERS, "target.external.host", "192.0.2.7"),
    "no-jump-host": changed(SMALL, "via", []),
}
