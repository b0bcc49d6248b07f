"""What the sshd of a distribution adds to a login: root, PAM, each part of its stack, and where accounts are."""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from record import add_folder, keep, machine, table
from study_runs import Compared, Study, spread

_TITLE: Final = "# What a distribution adds to a login"
_WHAT: Final = """\
A client logs in, over and over, by an Ed25519 key to this machine's own sshd, and does nothing else. `sshload compare`
takes the variants in turn, each round in another order: sshd alone (root, `UsePAM no`), the same sshd with this
machine's PAM stack and accounts (`target.managed.system`), and that with one part of the stack switched off. A cell has
the median over the rounds, then the least and the most; a ratio is of two tests of one round. [What it
shows](../explanation/pam.md). `make bench WHAT=system` measures again; the tests behind the tables are in
`system.json`."""
_ALONE: Final = "alone"
_WHOLE: Final = "distribution"
_PARTS: Final = ("motd", "limits", "env", "mail", "loginuid", "keyinit", "systemd", "selinux")
_MANY_USERS: Final = (1_000, 10_000)
_IN_LDAP: Final = _MANY_USERS[0]
_CACHES: Final = ("warm", "cold")
_CPU: Final = "cpuPerLoginMs"
_LOGIN: Final = "login.meanMs"
_HEAD: Final = ("target", "CPU ms per login", "by that of", "ratio", "login, mean ms", "tests")


def main() -> None:
    """Measure, print the tables, and keep them."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder), time.monotonic() + options.minutes * 60)
        where = machine("ssh2-python")
        compared = study.run(_document(options.seconds, options.rounds))
        paragraphs = [_TITLE, _WHAT, *_tables(compared)]
        print("\n\n".join(paragraphs), flush=True)  # noqa: T201 - its output is what it is for
        keep(options.out / "system", where, paragraphs, study.kept)


def _variants() -> Mapping[str, tuple[str, Mapping[str, Any] | None]]:
    """Return each variant by its name: in words, and what `system` is in it, None without."""
    return {
        _ALONE: ("sshd alone", None),
        _WHOLE: ("a distribution's", {}),
        **{f"no-{part}": (f"without pam_{part}", {"pam": {part: False}}) for part in _PARTS},
        "no-part": ("with none of these", {"pam": dict.fromkeys(_PARTS, False)}),
        "lastlog": ("with pam_lastlog too", {"pam": {"lastlog": True}}),
        **{f"users-{users}": (f"with {users:,} accounts in files", {"users": users}) for users in _MANY_USERS},
        **{f"ldap-{cache}": (f"with {_IN_LDAP:,} accounts in LDAP, {cache} cache", _ldap(cache)) for cache in _CACHES},
    }


def _ldap(cache: str) -> Mapping[str, Any]:
    return {"users": _IN_LDAP, "ldap": {"cache": cache}}


def _reference(name: str) -> str:
    """Return the variant with which another one is compared, empty for the first."""
    of_others = f"users-{_IN_LDAP}" if name.startswith("ldap") else _WHOLE
    return {_ALONE: "", _WHOLE: _ALONE}.get(name, of_others)


def _document(seconds: int, rounds: int) -> dict[str, Any]:
    variants = [
        {"name": name, **({"reference": reference} if (reference := _reference(name)) else {}), **_patch(system)}
        for name, (_, system) in _variants().items()
    ]
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTestComparison",
        "metadata": {"name": "system"},
        "spec": {
            "base": {
                "target": {"managed": {}},
                "scenario": {"steps": []},
                "load": {"users": {"stages": [{"users": 1, "duration": f"{seconds}s"}]}},
                "warmUp": "1s",
            },
            "variants": variants,
            "repeats": rounds,
        },
    }


def _patch(system: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if system is None else {"patch": {"target": {"managed": {"system": dict(system)}}}}


def _tables(compared: Compared) -> Iterator[str]:
    yield table(_HEAD, [_row(name, words, compared) for name, (words, _) in _variants().items()])
    yield str(compared.machine)


def _row(name: str, words: str, compared: Compared) -> Sequence[str]:
    reference = _reference(name)
    ratios = compared.ratios(name, reference, _CPU) if reference else []
    return (
        words,
        compared.shown(name, _CPU),
        _variants()[reference][0] if reference else "",
        spread(ratios, 2) if reference else "",
        compared.shown(name, _LOGIN),
        compared.tests(name),
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=25, help="what has not been measured by then is left out")
    parser.add_argument("--seconds", type=int, default=8, help="of each test")
    parser.add_argument("--rounds", type=int, default=6)
    add_folder(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
