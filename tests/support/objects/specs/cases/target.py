"""The server under test: one that is made, or one that exists, and how a made one is logged in to."""

from specs.bad import Bad, bad
from specs.external import EXTERNAL_USERS
from specs.small import SMALL
from specs.spec import Spec, changed, without

_SMALL_OF_STEPS = changed(SMALL, "scenario", {"steps": [{"exec": {"command": "true"}}]})
_EXTERNAL = EXTERNAL_USERS["target"]["external"]

BAD: dict[str, Bad] = {
    "no-target": Bad(without(SMALL, "target"), "spec.target"),
    "neither-target": bad("target", {}, says="exactly one of managed, external and gateway must be set"),
    "both-targets": bad(
        "target", {"managed": {}, "external": _EXTERNAL}, says="exactly one of managed, external and gateway"
    ),
    "target-of-the-wrong-type": bad("target.managed", "yes"),
    "password-for-a-managed-target": bad("client.auth", "password", says="publickey"),
    "password-for-a-managed-target-by-questions": bad("client.auth", "keyboard-interactive", says="publickey"),
    "proxy-of-no-kind": bad("target.managed.proxy", {}, says="kind"),
    "proxy-of-another-kind": bad("target.managed.proxy", {"kind": "squid"}, says="haproxy"),
    "proxy-without-connections": bad(
        "target.managed.proxy", {"kind": "haproxy", "maxConnections": 0}, says="maxConnections"
    ),
    "proxy-with-too-many-connections": bad(
        "target.managed.proxy", {"kind": "haproxy", "maxConnections": 100_001}, says="maxConnections"
    ),
    "gateway-of-no-policy": bad("target.managed.gateway", {}, says="policy", base=_SMALL_OF_STEPS),
    "gateway-of-another-policy": bad(
        "target.managed.gateway", {"policy": "threads"}, says="login-per-request", base=_SMALL_OF_STEPS
    ),
    "gateway-without-connections": bad(
        "target.managed.gateway",
        {"policy": "pool", "connectionsPerCredential": 0},
        says="connectionsPerCredential",
        base=_SMALL_OF_STEPS,
    ),
    "gateway-behind-a-proxy": bad(
        "target.managed",
        {"gateway": {"policy": "pool"}, "proxy": {"kind": "haproxy"}},
        "spec.target.managed.gateway",
        "no proxy but nginx",
        base=_SMALL_OF_STEPS,
    ),
    "host-certificates-that-the-library-does-not-check": bad(
        "target.managed.sshd.hostCertificates", value=True, says="openssh"
    ),
    "host-certificates-behind-a-gateway": bad(
        "target.managed",
        {"gateway": {"policy": "pool"}, "sshd": {"hostCertificates": True}},
        "spec.target.managed.sshd.hostCertificates",
        base=_SMALL_OF_STEPS,
    ),
    "revoked-keys-of-more-than-all": bad("target.managed.sshd.revokedKeys", {"users": "101%"}, says="users"),
    "revoked-keys-beyond-a-million": bad("target.managed.sshd.revokedKeys", {"others": 1_000_001}, says="others"),
    "what-is-not-there-yet-rootful": bad("target.managed.rootful", value=True),
    "what-is-not-there-yet-replicas": bad("target.managed.replicas", 2),
}

GOOD: dict[str, Spec] = {
    "haproxy-before-a-managed-target": changed(SMALL, "target.managed.proxy", {"kind": "haproxy"}),
    "gateway-before-a-managed-target": changed(
        _SMALL_OF_STEPS, "target.managed.gateway", {"policy": "login-per-request"}
    ),
    "nginx-before-a-managed-target": changed(SMALL, "target.managed.proxy", {"kind": "nginx"}),
    "nginx-before-a-gateway": changed(
        _SMALL_OF_STEPS, "target.managed", {"proxy": {"kind": "nginx"}, "gateway": {"policy": "pool"}}
    ),
    "certificate-for-a-managed-target": changed(SMALL, "client.auth", "certificate"),
    "host-certificates-for-asyncssh": changed(
        changed(SMALL, "client.library", "asyncssh"), "target.managed.sshd.hostCertificates", value=True
    ),
    "a-long-list-of-revoked-keys": changed(
        SMALL, "target.managed.sshd.revokedKeys", {"users": "0.5%", "others": 1_000_000}
    ),
    "agent-for-a-managed-target": changed(SMALL, "client.auth", "agent"),
}
