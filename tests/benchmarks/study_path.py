"""What stands in the path: direct, through proxies, a jump host and gateways, each beside the direct way."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from account_server import account_server, readable_place
from record import table
from ssh_server import SshServer
from study_figures import Scale
from study_runs import Compared, Study

_EXAMPLE: Final = Path(__file__).parents[2] / "examples/18-in-the-path.yaml"
_ROUNDS: Final = 3
_USERS: Final = (1, 8)
WAYS: Final = {
    "direct": "direct",
    "haproxy": "HAProxy",
    "nginx": "nginx",
    "jump-host": "a jump host",
    "gateway-login": "a gateway, `login-per-request`",
    "gateway-user": "a gateway, `connection-per-user`",
    "gateway-pool": "a gateway, `pool`",
    "nginx-gateway": "nginx before a gateway, `pool`",
}
"""The ways of the example, whose variants have the number of users behind them."""
_HEAD: Final = ("way", "whole iteration, mean ms", "over", "adds to the mean, ms", "95 % interval", "tests")


def in_the_path(study: Study, scale: Scale) -> Iterator[str]:
    """Yield a table of the ways at each concurrency, with the milliseconds that each adds."""
    with readable_place() as place, account_server(place, "jump-host") as jump_host:
        document = _document(jump_host, scale)
        compared = study.run(
            document,
            *("--allow-target", f"127.0.0.1:{jump_host.port}"),
            *("--via-identity", f"127.0.0.1={jump_host.keys.user}"),
            *("--via-known-hosts", f"127.0.0.1={jump_host.known_hosts}"),
        )
    references = {one["name"]: one.get("reference", "direct-1") for one in document["spec"]["variants"]}
    for users in _USERS:
        rows = [
            _row(what, f"{way}-{users}", references[f"{way}-{users}"], compared)
            for way, what in WAYS.items()
            if f"{way}-{users}" in references
        ]
        yield f"## {users} {'user' if users == 1 else 'users'}\n\n{table(_HEAD, rows)}"
    yield str(compared.machine)


def _row(what: str, variant: str, reference: str, compared: Compared) -> Sequence[str]:
    shown = compared.shown(variant, "total.meanMs")
    tests = compared.tests(variant)
    if variant == reference:
        return what, shown, "", "", "", tests
    over = WAYS[reference.rpartition("-")[0]]
    added = compared.added.get(variant)
    if added is None:
        return what, shown, over, "too few rounds", "too few rounds", tests
    return what, shown, over, f"{added.mean:+,.1f}", f"{added.low:+,.1f} to {added.high:+,.1f}", tests


def _document(jump_host: SshServer, scale: Scale) -> dict[str, Any]:
    """Return the example with short loads, and with a jump host of this machine."""
    document: dict[str, Any] = next(iter(yaml.safe_load_all(_EXAMPLE.read_text(encoding="utf-8"))))
    spec = document["spec"]
    spec["variants"] = [one for one in spec["variants"] if one["name"].rpartition("-")[0] in scale.ways]
    spec["repeats"] = min(_ROUNDS, scale.rounds)
    spec["base"]["warmUp"] = f"{scale.warm_up_seconds}s"
    for part in (spec["base"], *(one.get("patch", {}) for one in spec["variants"])):
        for stage in part.get("load", {}).get("users", {}).get("stages", ()):
            stage["duration"] = f"{max(1, scale.seconds // 2)}s"
        for hop in part.get("via", ()):
            hop |= {"host": "127.0.0.1", "port": jump_host.port, "user": jump_host.user}
    return document
