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
most. What something adds is the difference of two tests of one round; of one other key it is a 40th of what 40 of them
add, before the right one. `make bench WHAT=keys` measures again; the tests behind the tables are in `keys.json`."""
_FIGURES: Final = ("cpuPerLoginMs", "generatorCpuPerIterationMs", "login.meanMs")
_LIBRARIES: Final = ("ssh2-python", "paramiko", "asyncssh", "openssh")
_PLAIN: Final = _LIBRARIES[0]
_EXTRA: Final = 40
_OTHERS: Final = (1_000, 10_000, 100_000)
_OF_A_LOGIN: Final = ("server's CPU, ms", "client's CPU, ms", "time, ms", "tests")
_KEYS_HEAD: Final = ("library", *_OF_A_LOGIN)
_ADDED_HEAD: Final = ("what is added", "server's CPU, ms", "client's CPU, ms", "time, ms", "tests")


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


def _variants() -> Mapping[str, tuple[str, str, int, Mapping[str, Any]]]:
    """Return each variant by its name: in words, the variant to which it adds, how often, and its patch."""
    found: dict[str, tuple[str, str, int, Mapping[str, Any]]] = {}
    for library in _LIBRARIES:
        found[library] = (library, "", 1, {"client": {"library": library}})
        patch = {"client": {"library": library, "extraKeys": _EXTRA}}
        found[f"{library}-keys"] = (f"one other key, {library}", library, _EXTRA, patch)
    certificates = {"client": {"auth": "certificate", "certificates": {"lifetime": "5s", "renewBefore": "4s"}}}
    found["certificates"] = ("a certificate in place of the key", _PLAIN, 1, certificates)
    for others in _OTHERS:
        revoked = {"target": {"managed": {"sshd": {"revokedKeys": {"others": others}}}}}
        found[f"revoked-{others}"] = (f"a list of {others:,} revoked keys", _PLAIN, 1, revoked)
    return found


def _document(seconds: int, rounds: int) -> dict[str, Any]:
    variants = [
        {"name": name, "patch": dict(patch), **({"reference": beside} if beside else {})}
        for name, (_, beside, _, patch) in _variants().items()
    ]
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTestComparison",
        "metadata": {"name": "keys"},
        "spec": {
            "base": {
                "target": {"managed": {"sshd": {"maxAuthTries": 2 * _EXTRA}}},
                "scenario": {"steps": []},
                "load": {"users": {"stages": [{"users": 1, "duration": f"{seconds}s"}]}},
                "warmUp": "1s",
            },
            "variants": variants,
            "repeats": rounds,
        },
    }


def _tables(compared: Compared) -> Iterator[str]:
    yield "A login by the right key:"
    yield table(_KEYS_HEAD, [_login(library, compared) for library in _LIBRARIES])
    yield "What is added to it, with ssh2-python where no library is named:"
    added = [
        _added(name, compared, words, beside, times)
        for name, (words, beside, times, _) in _variants().items()
        if beside
    ]
    yield table(_ADDED_HEAD, added)
    yield str(compared.machine)


def _login(library: str, compared: Compared) -> Sequence[str]:
    return (library, *(compared.shown(library, figure) for figure in _FIGURES), compared.tests(library))


def _added(name: str, compared: Compared, words: str, beside: str, times: int) -> Sequence[str]:
    differences = ([one / times for one in compared.differences(name, beside, figure)] for figure in _FIGURES)
    return (words, *(spread(one, 2) for one in differences), compared.tests(name))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15, help="what has not been measured by then is left out")
    parser.add_argument("--seconds", type=int, default=6, help="of each test")
    parser.add_argument("--rounds", type=int, default=4)
    add_folder(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
