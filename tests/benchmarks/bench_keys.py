"""What keys that a server does not know, certificates, and long lists of revoked keys add to a login."""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from record import add_folder, keep, machine, table
from study_runs import Compared, Study, spread

_TITLE: Final = "# What keys and certificates add to a login"
_WHAT: Final = """\
A client logs in, over and over, to this machine's own sshd (`UsePAM no`), and does nothing else. `sshload compare`
takes the variants in turn, each round in another order. A cell has the median over the rounds, then the least and the
most; a ratio is of two tests of one round: of the server's CPU time to that of the line named. `make bench WHAT=keys`
measures again; the tests behind the tables are in `keys.json`."""
_SERVER_CPU: Final = "cpuPerLoginMs"
_CLIENT_CPU: Final = "generatorCpuPerIterationMs"
_LOGIN: Final = "login.meanMs"
_LIBRARIES: Final = ("ssh2-python", "paramiko", "asyncssh", "openssh")
_EXTRA: Final = 5
_OTHERS: Final = (1_000, 10_000, 100_000)
_HEAD: Final = ("login", "server's CPU, ms", "beside", "ratio", "client's CPU, ms", "login, mean ms", "tests")


def main() -> None:
    """Measure, print the tables, and keep them."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder), time.monotonic() + options.minutes * 60)
        where = machine(*_LIBRARIES[:3])
        compared = study.run(_document(options.seconds, options.rounds))
        paragraphs = [_TITLE, _WHAT, *_tables(compared)]
        print("\n\n".join(paragraphs), flush=True)  # noqa: T201 - its output is what it is for
        keep(options.out / "keys", where, paragraphs, study.kept)


def _variants() -> Mapping[str, tuple[str, str, Mapping[str, Any]]]:
    """Return each variant by its name: in words, the variant beside which it stands, and its patch."""
    found: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for library in _LIBRARIES:
        found[library] = (f"{library}, by the right key", "", {"client": {"library": library}})
        patch = {"client": {"library": library, "extraKeys": _EXTRA}}
        found[f"{library}-keys"] = (f"{library}, after {_EXTRA} other keys", library, patch)
    certificates = {"client": {"auth": "certificate", "certificates": {"lifetime": "5s", "renewBefore": "4s"}}}
    found["certificates"] = ("ssh2-python, by a certificate, renewed each second", "ssh2-python", certificates)
    for others in _OTHERS:
        revoked = {"target": {"managed": {"sshd": {"revokedKeys": {"others": others}}}}}
        found[f"revoked-{others}"] = (f"ssh2-python, {others:,} revoked keys", "ssh2-python", revoked)
    return found


def _document(seconds: int, rounds: int) -> dict[str, Any]:
    variants = [
        {"name": name, "patch": dict(patch), **({"reference": beside} if beside else {})}
        for name, (_, beside, patch) in _variants().items()
    ]
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTestComparison",
        "metadata": {"name": "keys"},
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


def _tables(compared: Compared) -> Iterator[str]:
    yield table(_HEAD, [_row(name, words, beside, compared) for name, (words, beside, _) in _variants().items()])
    yield str(compared.machine)


def _row(name: str, words: str, beside: str, compared: Compared) -> Sequence[str]:
    return (
        words,
        compared.shown(name, _SERVER_CPU),
        _variants()[beside][0] if beside else "",
        spread(compared.ratios(name, beside, _SERVER_CPU), 2) if beside else "",
        compared.shown(name, _CLIENT_CPU),
        compared.shown(name, _LOGIN),
        compared.tests(name),
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15, help="what has not been measured by then is left out")
    parser.add_argument("--seconds", type=int, default=6, help="of each test")
    parser.add_argument("--rounds", type=int, default=4)
    add_folder(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
