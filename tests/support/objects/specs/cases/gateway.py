"""A gateway in place of an SSH server: where it is, and what nobody can ask of one."""

from specs.bad import Bad, bad
from specs.gateway import GATEWAY, MANAGED_GATEWAY
from specs.spec import Spec, changed

_JUMP_HOST = {
    "host": "bastion",
    "user": "jump",
    "credentialsSecretRef": {"name": "jump"},
    "insecureIgnoreHostKey": True,
}
_LATENCY = "thresholds.0.latency.step"
_FIELD = "spec.target.gateway"
_OWN_FIELD = "spec.target.managed.gateway"


def _steps(*steps: Spec) -> Bad:
    return bad("scenario.steps", list(steps), base=changed(GATEWAY, "thresholds", []), says="SSH session")


def _client(name: str, value: object) -> Bad:
    return bad(f"client.{name}", value, "spec.client", "the workers do not speak SSH", GATEWAY)


BAD: dict[str, Bad] = {
    "gateway-without-a-token": bad("target.gateway.tokenSecretRef", None, base=GATEWAY),
    "gateway-without-a-credential": bad("target.gateway.credential", "", base=GATEWAY),
    "gateway-of-an-empty-label": bad("target.gateway.host", "a..b", base=GATEWAY),
    "gateway-whose-path-has-a-query": bad("target.gateway.path", "/a?b", base=GATEWAY),
    "gateway-whose-path-ends-with-a-slash": bad("target.gateway.path", "/a/", base=GATEWAY),
    "gateway-with-authorities-and-without-tls": bad(
        "target.gateway.tls", value=False, field="spec.target.gateway.caSecretRef", base=GATEWAY
    ),
    "gateway-behind-a-jump-host": bad("via", [_JUMP_HOST], _FIELD, "via", GATEWAY),
    "gateway-of-a-locustfile": bad(
        "scenario", {"locustfile": {"configMapRef": {"name": "users"}}}, _FIELD, "locustfile", GATEWAY
    ),
    "gateway-without-a-step": bad("scenario.steps", [], base=changed(GATEWAY, "thresholds", []), says="at least one"),
    "gateway-with-a-shell": _steps({"shell": {"send": "a", "expect": "a"}}),
    "gateway-with-a-file": _steps({"sftpRead": {"path": "a"}}),
    "gateway-with-a-forward": _steps({"forward": {"host": "localhost", "port": 22}}),
    "gateway-whose-sessions-are-held": bad(
        "load", {"hold": {"sessions": 5, "rampUp": "1s", "duration": "5s"}}, _FIELD, "hold", GATEWAY
    ),
    "gateway-with-another-library": _client("library", "paramiko"),
    "gateway-with-a-password": _client("auth", "password"),
    "gateway-with-ciphers": _client("ciphers", ["aes128-gcm@openssh.com"]),
    "gateway-with-a-window": _client("sftpReadSize", "64Ki"),
    "login-of-a-gateway": bad(_LATENCY, "login", "spec.thresholds", "login", GATEWAY),
    "part-of-a-command-of-a-gateway": bad(_LATENCY, "uptime.exec", "spec.thresholds", "uptime.exec", GATEWAY),
    "own-gateway-without-a-step": bad(
        "scenario.steps", [], base=changed(MANAGED_GATEWAY, "thresholds", []), says="at least one"
    ),
    "own-gateway-behind-a-jump-host": bad("via", [_JUMP_HOST], _OWN_FIELD, "via", MANAGED_GATEWAY),
    "own-gateway-with-another-library": bad(
        "client.library", "paramiko", "spec.client", "the workers do not speak SSH", MANAGED_GATEWAY
    ),
    "login-of-an-own-gateway": bad(_LATENCY, "login", "spec.thresholds", "login", MANAGED_GATEWAY),
    "wait-in-a-gateway-without-one": bad(
        "thresholds",
        [{"latency": {"step": "gatewayWait", "percentile": 90, "below": "1s"}}],
        says="latency.step",
    ),
}

GOOD: dict[str, Spec] = {
    "gateway-without-tls": changed(
        GATEWAY,
        "target.gateway",
        {"host": "::1", "port": 8080, "tls": False, "credential": "a", "tokenSecretRef": {"name": "token"}},
    ),
    "gateway-with-timeouts": changed(GATEWAY, "client", {"quickAck": False, "timeouts": {"step": "90s"}}),
}
