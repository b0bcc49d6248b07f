"""The commands of the guide that need no cluster, run as they stand on their pages, in their order.

Three things are not as they stand: the server is one on loopback, the loads are short, of a sweep at two values, and
what installs programs or asks for a password is left out.
"""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from guide import PAGES, ROOT, blocks_of, commands, yaml_file
from local_cli import ENDS_WITHIN_S, Ended, sshload
from own_server import USER, OwnServer, running_server
from short_examples import short, short_example

HOST = "bastion.example.com"
VERDICTS = {0, 1, 2, 3}
"""The exit codes of what was measured: how fast this machine is, is not what the guide is about."""

IN_A_CLUSTER = {"abort", "apply", "list", "rerun", "watch"}
LOCAL = {"compare", "report", "run", "sweep", "trace", "validate", "--version"}
SHORT_LOADS: Mapping[str, Mapping[str, Any]] = {
    "arrivals": {"stages": [{"rate": 4, "duration": "1s"}]},
    "users": {"stages": [{"users": 1, "duration": "1s"}]},
}
SMALL: dict[str, Any] = {
    "apiVersion": "sshload.dev/v1alpha1",
    "kind": "SSHLoadTest",
    "metadata": {"name": "small"},
    "spec": {
        "target": {"managed": {}},
        "scenario": {"steps": [{"exec": {"command": "true"}}]},
        "load": {"arrivals": {"rate": 4, "duration": "1s"}},
        "warmUp": "0s",
    },
}
"""The reader's `test.yaml` of a page that shows none."""

SSHD_LOG = "".join(
    f"2026-11-16T09:{second // 60:02}:{second % 60:02}.500000+00:00 host sshd[{second + 1}]: "
    f"Connection from 192.0.2.7 port {40_000 + second} on 192.0.2.1 port 22\n"
    for second in range(1_200)
)


def local_commands(page: Path) -> list[list[str]]:
    """Return the commands of a page that can be run here."""
    return [words for block in blocks_of(page, "sh") for words in commands(block) if runs_here(words)]


def runs_here(words: list[str]) -> bool:
    if "--token-file" in words:  # tests/integration/local_run/test_gateway.py runs it, with a gateway
        return False
    if words[0] == ".venv/bin/sshload":
        in_a_cluster = words[1] in IN_A_CLUSTER or (words[1] in {"advise", "compare"} and "-f" not in words)
        return not in_a_cluster and (words[1] != "report" or words[2].endswith(".json"))
    return words[0] in {"ssh-keygen", "ssh-keyscan", "ssh-copy-id"}


PLAYED = [page for page in PAGES if any(words[0] == ".venv/bin/sshload" for words in local_commands(page))]


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with running_server(tmp_path_factory.mktemp("bastion")) as server:
        yield server


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who reads a page and types what it says in a folder of their own."""

    page: Path
    folder: Path
    server: OwnServer

    def types(self, words: list[str]) -> None:
        """Run a command; fails where it does not do what the page promises."""
        words, output = self._redirected(words)
        if words[0] == "ssh-copy-id":
            (public,) = (word for word in words if word.endswith(".pub"))
            authorized = self.server.identity.with_suffix(".pub")
            authorized.write_text(authorized.read_text() + (self.folder / public).read_text())
            return
        words = [of_two_values(word) if before == "--over" else word for before, word in pairwise(["", *words])]
        made = {after for before, after in pairwise(words) if before == "-o"}
        words = [word if word in made else self._here(word) for word in words]
        run = self._sshload if words[0] == ".venv/bin/sshload" else self._ssh_program
        said = run(words[1:] if words[0] == ".venv/bin/sshload" else words)
        if output:
            (self.folder / output).write_text(said)

    def _redirected(self, words: list[str]) -> tuple[list[str], str]:
        if ">" not in words:
            return words, ""
        at = words.index(">")
        return words[:at], words[at + 1]

    def _here(self, word: str) -> str:
        """Return a word as it has to be on this machine, with the file made that it names."""
        if word.startswith("examples/case-study/"):
            return self._written(Path(word).name, [short(ROOT / word)])
        if word.startswith("examples/"):
            return self._written(Path(word).name, list(map(shortest, short_example(Path(word).stem))))
        if word.endswith(".yaml") and not word.startswith("-") and not (self.folder / word).exists():
            shown = yaml_file(self.page, word)
            return self._written(word, [SMALL if shown is None else self._on_loopback(shown.document)])
        word = word.replace(f"{HOST}:22", f"127.0.0.1:{self.server.port}").replace(HOST, "127.0.0.1")
        return str(self.server.port) if word == "22" else word

    def _written(self, name: str, documents: list[dict[str, Any]]) -> str:
        (self.folder / name).write_text(yaml.safe_dump_all(documents))
        return name

    def _on_loopback(self, document: dict[str, Any]) -> dict[str, Any]:
        spec = document["spec"]
        if "external" in spec["target"]:
            spec["target"]["external"] |= {"host": "127.0.0.1", "port": self.server.port, "user": USER}
        return {**document, "spec": small(spec, short_load(spec["load"]))}

    def _sshload(self, arguments: list[str]) -> str:
        ended = in_folder(self.folder, lambda: sshload(*arguments))
        measures = arguments[0] in {"compare", "run", "sweep"}
        assert ended.code in (VERDICTS if measures else {0}), f"{arguments}: {ended.out}{ended.err}"
        return ended.out

    def _ssh_program(self, words: list[str]) -> str:
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=True)
        return done.stdout


def shortest(document: dict[str, Any]) -> dict[str, Any]:
    """Return a test with a short load, a comparison with one round of one, and any other document as it is.

    A test whose generator lags runs up to three times, and one whose load is more than the machine takes always does.
    """
    spec = document.get("spec", {})
    if document["kind"] == "SSHLoadTest":
        return {**document, "spec": small(spec, short_load(spec["load"]))}
    if document["kind"] == "SSHLoadTestComparison":
        base = small(spec["base"], {"arrivals": SHORT_LOADS["arrivals"]})
        return {**document, "spec": {**spec, "base": base, "repeats": 1}}
    return document


def small(spec: Mapping[str, Any], load: Mapping[str, Any]) -> dict[str, Any]:
    """Return a test's spec with this load, which begins at once, and with one pod of workers, which starts faster."""
    return {**spec, "load": load, "warmUp": "0s", "workers": {**spec.get("workers", {}), "replicas": 1}}


def of_two_values(swept: str) -> str:
    """Return what a sweep sweeps with the first two of its values, written as before: each value is a run."""
    field, _, values = swept.partition("=")
    least, of_a_range, rest = values.partition("..")
    if of_a_range:
        step = rest.partition(":")[2]
        return f"{field}={least}..{int(least) + int(step)}:{step}"
    first, second, *_ = values.split(",")
    return f"{field}={first},{second}"


def short_load(load: Mapping[str, Any]) -> dict[str, Any]:
    """Return a load with few arrivals or users, and with what else it has; of another kind, as it is."""
    return {
        kind: {**thinking(found), **SHORT_LOADS[kind]} if kind in SHORT_LOADS else found for kind, found in load.items()
    }


def thinking(load: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a load has besides its size."""
    return {field: value for field, value in load.items() if field not in {"rate", "duration", "stages"}}


def in_folder(folder: Path, run: Callable[[], Ended]) -> Ended:
    """Run a command whose working directory is `folder`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return run()


@pytest.mark.parametrize("page", PLAYED, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_do_what_they_promise(page: Path, tmp_path: Path, server: OwnServer) -> None:
    found = local_commands(page)
    made = {word for words in found for word in words}
    reader = Reader(page, tmp_path, server)
    (tmp_path / "ssh.log").write_text(SSHD_LOG)
    if "load_key" in made and not any(words[0] == "ssh-keygen" for words in found):
        (tmp_path / "load_key").touch(mode=0o600)
        (tmp_path / "load_key").write_bytes(server.identity.read_bytes())
        (tmp_path / "known_hosts").write_bytes(server.known_hosts.read_bytes())
    for words in found:
        reader.types(words)


def test_every_command_of_sshload_is_played_here_or_is_of_a_cluster() -> None:
    found = {words[1] for page in PAGES for words in local_commands(page) if words[0] == ".venv/bin/sshload"}
    assert found <= LOCAL
    assert {"run", "report", "validate"} <= found
