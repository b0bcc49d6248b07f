"""The gateway's configuration, which a person writes.

Input: a YAML text.
Oracle: it is refused as a ConfigError, which says something and shows no password of a URL, or it is a configuration
whose limits hold for the pool.
"""

from collections.abc import Iterator

from sshload_gateway.config import ConfigError, read_config

_PASSWORD = "pass-of-a-url"
_WHOLE = """\
database: {url: "sqlite:////var/lib/gateway.db"}
tokens: {issuer: i, audience: a, algorithms: [ES256], jwksUrl: https://i/keys}
sealingKeys: {folder: keys, active: first}
destinations:
  allowed: [{host: "*.example.com", ports: [22]}, {host: 10.0.0.0/8, ports: [22, 2222]}]
  denied: [10.1.0.0/16]
"""


def seeds() -> Iterator[bytes]:
    """Yield a configuration, and some with more or other sections."""
    for more in (
        "",
        "pool: {policy: connection-per-user, connections: 3, waitS: 1.5, idleS: 10}\n",
        "limits: {requestsPerSecond: 0.5, bodyBytes: 4096}\nlogLevel: DEBUG\n",
        "load: {claim: team, namespaces: {red: team-red}, pagesUrl: https://pages.example.com}\n",
        "listen: {host: '::', port: 8080}\nmanagement: {host: 127.0.0.1, port: 9100}\nshutdownS: 5\n",
    ):
        yield f"{_WHOLE}{more}".encode()
    yield _WHOLE.replace("sqlite:////var/lib/gateway.db", f"postgresql://u:{_PASSWORD}@db/x").encode()
    yield f"database: {{url: postgresql://u:{_PASSWORD}@db/x, [".encode()
    yield b"a: 2026-13-99"
    yield b"[" * 5_000


def check(data: bytes) -> None:
    """Read a configuration, and what the gateway makes of it."""
    try:
        config, refusal = read_config(data.decode(errors="replace")), "none"
    except ConfigError as error:
        config, refusal = None, str(error)
    assert refusal
    assert _PASSWORD not in refusal
    if config is None:
        return
    limits = config.pool.limits()
    assert limits.connections >= 1
    assert limits.sessions_of_one >= 1
    assert len(config.destinations.entries()) == len(config.destinations.allowed)
    config.destinations.ranges()
