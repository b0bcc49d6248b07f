"""Populations that log in: of a server that exists, and the accounts of a managed one."""

from typing import Any

from specs.bad import Bad, bad
from specs.external import EXTERNAL_HOLD, EXTERNAL_USERS
from specs.small import SMALL
from specs.spec import Spec, changed


def _population(base: Spec = EXTERNAL_USERS, **users: Any) -> Spec:
    """Return a spec of an external target in which these users log in."""
    spec = changed(base, "client.users", users)
    del spec["target"]["external"]["user"]
    return spec


def _accounts(auth: str = "publickey", users: int = 5, **in_turn: Any) -> Spec:
    """Return a spec of a managed target with so many accounts."""
    spec = changed(changed(SMALL, "target.managed.system", {"users": users}), "client.auth", auth)
    return changed(spec, "client.users", in_turn) if in_turn else spec


_SECRET: Any = {"name": "users"}
_NAMES: Any = {"pattern": "user{n}", "to": 5000}
_FROM_SECRET = _population(secretRef=_SECRET)
_FROM_NAMES = _population(names=_NAMES)

BAD: dict[str, Bad] = {
    "users-of-nowhere": Bad(_population(pick="random"), "spec.client.users", "exactly one of"),
    "users-of-two-sources": Bad(_population(secretRef=_SECRET, names=_NAMES), "spec.client.users", "exactly one of"),
    "users-and-a-user": bad("target.external.user", "probe", base=_FROM_SECRET, says="client.users"),
    "neither-users-nor-a-user": bad("target.external.user", None, base=EXTERNAL_USERS, says="client.users"),
    "users-with-numbers-without-credentials": bad("target.external.credentialsSecretRef", None, base=_FROM_NAMES),
    "users-of-an-unknown-file": bad("client.users.key", "passwd", base=_FROM_SECRET),
    "key-without-a-secret": bad("client.users.key", "users.csv", base=_FROM_NAMES),
    "unknown-pick": bad("client.users.pick", "first", base=_FROM_SECRET),
    "seed-of-what-draws-nothing": bad("client.users.seed", 5, base=_FROM_SECRET, says="random, weighted and zipf"),
    "exponent-of-what-has-none": bad("client.users.exponent", 1.5, base=_population(secretRef=_SECRET, pick="random")),
    "exponent-zero": bad("client.users.exponent", 0, base=_population(secretRef=_SECRET, pick="zipf")),
    "weights-of-numbers": Bad(_population(names=_NAMES, pick="weighted"), "spec.client.users.pick", "secretRef"),
    "name-without-a-number": bad("client.users.names.pattern", "user", base=_FROM_NAMES),
    "name-that-is-an-option": bad("client.users.names.pattern", "-o{n}", base=_FROM_NAMES),
    "name-for-a-shell": bad("client.users.names.pattern", "$(id){n}", base=_FROM_NAMES),
    "no-last-number": Bad(_population(names={"pattern": "user{n}"}), "spec.client.users.names.to"),
    "numbers-that-fall": bad("client.users.names.from", 5001, "spec.client.users.names.to", base=_FROM_NAMES),
    "too-many-numbers": bad("client.users.names.to", 100_001, base=_FROM_NAMES),
    "keys-of-users-in-one-agent": Bad(
        changed(_FROM_SECRET, "client.auth", "agent"), "spec.client.users.secretRef", "agent"
    ),
    "once-for-a-session-of-each-user": bad(
        "scenario.sessionReuse",
        "user",
        "spec.client.users.pick",
        base=_population(secretRef=_SECRET, pick="oncePerUser"),
    ),
    "once-for-held-sessions": Bad(
        _population(EXTERNAL_HOLD, names=_NAMES, pick="oncePerUser"), "spec.client.users.pick"
    ),
    "users-of-an-sshd-without-accounts": Bad(changed(SMALL, "client.users", {"pick": "random"}), "spec.client.users"),
    "names-of-made-accounts": Bad(_accounts(names=_NAMES), "spec.client.users"),
    "secret-of-made-accounts": Bad(_accounts(secretRef=_SECRET), "spec.client.users"),
    "accounts-with-an-agent": Bad(_accounts("agent"), "spec.client.auth", "publickey, password"),
    "accounts-with-a-certificate": Bad(_accounts("certificate", pick="random"), "spec.client.auth"),
}

GOOD: dict[str, Spec] = {
    "users-of-a-secret": _FROM_SECRET,
    "users-of-a-packed-file": changed(_FROM_SECRET, "client.users.key", "users.yaml.gz"),
    "users-with-all-credentials": changed(_FROM_SECRET, "target.external.credentialsSecretRef", None),
    "users-with-numbers": _FROM_NAMES,
    "users-by-zipf": _population(secretRef=_SECRET, pick="zipf", exponent=1.2, seed=7),
    "users-by-weight": _population(secretRef=_SECRET, pick="weighted", seed=0),
    "users-once": _population(secretRef=_SECRET, pick="oncePerUser"),
    "users-who-hold": _population(EXTERNAL_HOLD, names={**_NAMES, "from": 7, "digits": 5}),
    "accounts": _accounts(),
    "accounts-by-password": _accounts("password", pick="zipf"),
    "one-account-with-an-agent": _accounts("agent", users=1),
}
