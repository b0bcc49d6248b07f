"""What the gateway costs: the same commands on one sshd, straight and through gateways of each policy."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from account_server import account_server, readable_place
from gateway_process import GatewayProcess, TokenIssuer, gateway_process
from programs import output
from record import table
from ssh_server import SshServer
from study_figures import Scale
from study_runs import Study, spread

_CONNECTIONS: Final = 8
_CREDENTIAL: Final = "server"
_SSHD_DEFAULTS: Final = "MaxStartups 10:30:100\nMaxSessions 10"
_POOLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "same-connections": {"policy": "pool", "connectionsPerCredential": _CONNECTIONS, "sessionsPerConnection": 1},
    "pool": {"policy": "pool"},
    "one-connection": {"policy": "connection-per-user"},
    "unlimited": {"policy": "connection-per-user-unlimited"},
    "login": {"policy": "login-per-request"},
}
"""The gateways: `pool` as it comes."""
_NAMES: Final = {
    "pool": "`pool`",
    "one-connection": "`connection-per-user`",
    "unlimited": "`connection-per-user-unlimited` (FirecREST v2)",
    "login": "`login-per-request`",
}
"""The policies that are compared."""


@dataclass(frozen=True, slots=True)
class _Servers:
    """One sshd with its default limits, and gateways before it."""

    sshd: SshServer
    gateways: Mapping[str, GatewayProcess]
    options: Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class _Spent:
    """What a gateway did so far: CPU seconds of its process, commands, and logins that sshd dropped."""

    cpu_s: float
    commands: float
    dropped: float

    @classmethod
    def by(cls, gateway: GatewayProcess) -> "_Spent":
        return cls(
            gateway.metric("process_cpu_seconds_total"),
            gateway.metric("sshload_gateway_commands_total", outcome="exited"),
            gateway.metric("sshload_gateway_logins_total", outcome="dropped"),
        )


def gateway(study: Study, scale: Scale) -> Iterator[str]:
    """Yield the tables of the pool beside plain SSH: at full speed, and at 90 per second."""
    with _servers(study.folder / "gateway", ["same-connections"]) as servers:
        yield _same_connections(study, scale, servers)
        if study.has_time:
            yield _added(study, scale, servers)


def policies(study: Study, scale: Scale) -> Iterator[str]:
    """Yield the table of the policies, a command at a time."""
    with _servers(study.folder / "policies", list(_NAMES)) as servers:
        for command in scale.commands:
            if study.has_time:
                yield _policies(study, scale, servers, command)


def _same_connections(study: Study, scale: Scale, servers: _Servers) -> str:
    alone = [_asyncssh_alone_ms(servers, scale)]
    before = _Spent.by(servers.gateways["same-connections"])
    variants = (_direct("direct", _CONNECTIONS), _through(servers, "same-connections", _CONNECTIONS))
    compared = study.run(
        _comparison("pool-or-ssh", servers, variants, _users(_CONNECTIONS, scale), scale, scale.rounds),
        *servers.options,
    )
    alone.append(_asyncssh_alone_ms(servers, scale))
    rows = [
        (
            f"{what}, {_CONNECTIONS} connections",
            compared.shown(variant, "completedRate"),
            spread(compared.ratios(variant, "direct", "completedRate"), 2),
            cpu,
            compared.shown(variant, "errorPercent"),
        )
        for what, variant, cpu in (
            ("straight over SSH", "direct", "none"),
            ("through the pool", "same-connections", _cpu_ms(before, servers.gateways["same-connections"])),
        )
    ]
    head = (
        "uptime",
        "per second",
        "ratio (target 0.6)",
        "CPU of the gateway per command, ms (target 1.5)",
        "failed, %",
    )
    return (
        f"## As fast as {_CONNECTIONS} users can\n\n{table(head, rows)}\n\n"
        f"{_said_of_asyncssh(alone)} {compared.machine}"
    )


def _added(study: Study, scale: Scale, servers: _Servers) -> str:
    alone = [_asyncssh_alone_ms(servers, scale, scale.rate)]
    before = _Spent.by(servers.gateways["same-connections"])
    variants = (_direct("direct", _CONNECTIONS), _through(servers, "same-connections", _CONNECTIONS))
    load = {"arrivals": {"rate": scale.rate, "duration": f"{2 * scale.seconds}s", "maxInFlight": 200}}
    compared = study.run(
        _comparison(f"at-{scale.rate}-per-second", servers, variants, load, scale, min(3, scale.rounds)),
        *servers.options,
    )
    alone.append(_asyncssh_alone_ms(servers, scale, scale.rate))
    rows = []
    for percentile in ("p50", "p90", "p99"):
        figure = f"total.{percentile}Ms"
        direct, through = (compared.values(name, figure) for name in ("direct", "same-connections"))
        added = compared.differences("same-connections", "direct", figure)
        rows.append((percentile, spread(direct), spread(through), spread(added)))
    cpu = _cpu_ms(before, servers.gateways["same-connections"])
    head = ("percentile", "straight over SSH, ms", "through the pool, ms", "added, ms (target 5 at p99)")
    return (
        f"## {scale.rate} commands per second\n\n{table(head, rows)}\n\n"
        f"The gateway used {cpu} ms of CPU per command. {_said_of_asyncssh(alone)} {compared.machine}"
    )


def _asyncssh_alone_ms(servers: _Servers, scale: Scale, rate: int | None = None) -> float:
    """Return the CPU time of a command over the same connections in a process that has asyncssh alone."""
    options = {
        "port": servers.sshd.port,
        "user": servers.sshd.user,
        "key": servers.sshd.keys.user,
        "known-hosts": servers.sshd.known_hosts,
        "command": "uptime",
        "connections": _CONNECTIONS,
        "seconds": scale.seconds,
        **({"rate": rate} if rate else {}),
    }
    program = Path(__file__).with_name("asyncssh_alone.py")
    return float(output(sys.executable, program, *(f"--{name}={value}" for name, value in options.items())))


def _said_of_asyncssh(alone_ms: Sequence[float]) -> str:
    """Return what asyncssh alone took, as a sentence."""
    before, after = (f"{one:.2f}" for one in alone_ms)
    return f"A client of asyncssh alone used {before} ms for the same command before these tests, and {after} ms after."


def _policies(study: Study, scale: Scale, servers: _Servers, command: str) -> str:
    before = {name: _Spent.by(servers.gateways[name]) for name in _NAMES}
    variants = [_through(servers, name, scale.many_users) for name in _NAMES]
    variants.append(_direct("ssh-login", scale.many_users, reuse="none"))
    load = _users(scale.many_users, scale)
    name = f"policies-{command.split(maxsplit=1)[0]}"
    compared = study.run(
        _comparison(name, servers, variants, load, scale, min(2, scale.rounds), command), *servers.options
    )
    rows = [
        (
            what,
            compared.shown(variant, "completedRate"),
            spread(compared.ratios("pool", variant, "completedRate"), 2),
            compared.shown(variant, "errorPercent"),
            f"{_Spent.by(servers.gateways[variant]).dropped - before[variant].dropped:.0f}",
            _cpu_ms(before[variant], servers.gateways[variant]),
        )
        for variant, what in _NAMES.items()
    ]
    rows.append(
        (
            "straight over SSH, a login for each command",
            compared.shown("ssh-login", "completedRate"),
            spread(compared.ratios("pool", "ssh-login", "completedRate"), 2),
            compared.shown("ssh-login", "errorPercent"),
            "among the failed",
            "none",
        )
    )
    head = ("policy", "commands per second", "`pool` / this one", "failed, %", "logins that sshd dropped",
            "CPU of the gateway per command, ms")  # fmt: skip
    return (
        f"## `{command}` by {scale.many_users} users at once, at sshd's defaults\n\n{table(head, rows)}\n\n"
        f"The CPU of requests that failed is in that of the commands that ended. {compared.machine}"
    )


@contextmanager
def _servers(folder: Path, names: Sequence[str]) -> Iterator[_Servers]:
    issuer = TokenIssuer()
    folder.mkdir()
    with readable_place() as place, account_server(place, "server", _SSHD_DEFAULTS) as sshd, ExitStack() as stack:
        gateways = {}
        for name in names:
            own = folder / name
            own.mkdir()
            limits = {"waitS": 60, "loginS": 60, "refusalPauseS": 0}
            running = stack.enter_context(
                gateway_process(own, [sshd.port], issuer=issuer, pool={**limits, **_POOLS[name]})
            )
            running.caller().store(_CREDENTIAL, sshd).raise_for_status()
            gateways[name] = running
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(issuer.token())
        allowed = (sshd.port, *(urlsplit(one.url).port for one in gateways.values()))
        options: list[str | Path] = [
            "--identity",
            sshd.keys.user,
            "--known-hosts",
            sshd.known_hosts,
            "--token-file",
            token,
        ]
        for port in allowed:
            options += ["--allow-target", f"127.0.0.1:{port}"]
        yield _Servers(sshd, gateways, options)


def _comparison(  # noqa: PLR0913, PLR0917 - the parts of a spec
    name: str,
    servers: _Servers,
    variants: Sequence[Mapping[str, Any]],
    load: Mapping[str, Any],
    scale: Scale,
    rounds: int,
    command: str = "uptime",
) -> dict[str, Any]:
    login = {"credentialsSecretRef": {"name": "login"}, "knownHostsSecretRef": {"name": "login"}}
    external = {"host": "127.0.0.1", "port": servers.sshd.port, "user": servers.sshd.user, **login}
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTestComparison",
        "metadata": {"name": name},
        "spec": {
            "base": {
                "target": {"external": external},
                "scenario": {
                    "sessionReuse": "pool",
                    "poolSize": _CONNECTIONS,
                    "steps": [{"exec": {"command": command}}],
                },
                "load": load,
                "warmUp": f"{scale.warm_up_seconds}s",
                "thresholds": [{"errorRate": {"below": "100%"}}],
                "workers": {"replicas": 1},
            },
            "variants": list(variants),
            "repeats": rounds,
        },
    }


def _users(count: int, scale: Scale) -> dict[str, Any]:
    return {"users": {"stages": [{"users": count, "duration": f"{max(1, scale.seconds // 2)}s"}]}}


def _direct(name: str, connections: int, reuse: str = "pool") -> dict[str, Any]:
    size = {"poolSize": connections if reuse == "pool" else None}
    return {"name": name, "patch": {"scenario": {"sessionReuse": reuse, **size}}}


def _through(servers: _Servers, name: str, connections: int) -> dict[str, Any]:
    """Return the variant through a gateway, by so many HTTP connections that stay open."""
    port = urlsplit(servers.gateways[name].url).port
    target = {"host": "127.0.0.1", "port": port, "tls": False, "credential": _CREDENTIAL,
              "tokenSecretRef": {"name": "token"}}  # fmt: skip
    return {
        "name": name,
        "remove": ["target.external"],
        "patch": {"target": {"gateway": target}, "scenario": {"poolSize": connections}},
    }


def _cpu_ms(before: _Spent, gateway: GatewayProcess) -> str:
    """Return the CPU time of a gateway's process for each command since then, idle time and warm-up included."""
    now = _Spent.by(gateway)
    commands = now.commands - before.commands
    return f"{(now.cpu_s - before.cpu_s) * 1_000 / commands:.2f}" if commands else "not measured"
