"""What the page of the gateway tells somebody to try on one machine, with its own files, against a real sshd."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
from account_server import account_server, readable_place
from free_ports import free_port
from guide import ROOT, blocks_of, commands
from ssh_server import SshServer
from warm_processes import start_warm_gateway

PAGE = ROOT / "docs/how-to/gateway.md"
_WITHIN_S = 300.0
_POLL_S = 0.05


class _Reader:
    """Somebody who saves the page's files in a folder, but for host, ports and user, and types its commands."""

    def __init__(self, folder: Path, server: SshServer) -> None:
        self.folder = folder
        ports = {name: str(free_port()) for name in ("8080", "9100")}
        self._url = {f"127.0.0.1:{name}": f"127.0.0.1:{port}" for name, port in ports.items()}
        here = {
            "bastion.example.com": "127.0.0.1",
            '"user": "load"': f'"user": "{server.user}"',
            '"port": 22': f'"port": {server.port}',
            "ports: [22]": f"ports: [{server.port}]",
            "port: 8080": f"port: {ports['8080']}",
            "port: 9100": f"port: {ports['9100']}",
        }
        for block in blocks_of(PAGE, "yaml", "python"):
            if block.saved_as in {"gateway.yaml", "try_gateway.py"}:
                text = block.text
                for shown, meant in here.items():
                    text = text.replace(shown, meant)
                (folder / block.saved_as).write_text(text)

    def makes_a_token(self) -> None:
        """Run the file that plays the issuer."""
        subprocess.run([sys.executable, "try_gateway.py"], cwd=self.folder, check=True)

    def calls(self) -> list[requests.Response]:
        """Call the gateway by the page's commands of curl whose files the page has, and return the answers."""
        typed = [words for block in blocks_of(PAGE, "sh") for words in commands(block) if words[0] == "curl"]
        return [self._curl(words) for words in typed if "@load.json" not in words]

    def _curl(self, words: list[str]) -> requests.Response:
        headers = dict(line.split(": ", 1) for line in (self.folder / "headers").read_text().splitlines())
        url = words[-1]
        for shown, meant in self._url.items():
            url = url.replace(shown, meant)
        if "--data" not in words:
            return requests.get(url, headers=headers, timeout=_WITHIN_S)
        data = words[words.index("--data") + 1]
        body = (self.folder / data[1:]).read_text() if data.startswith("@") else data
        return requests.post(url, body, headers=headers, timeout=_WITHIN_S)


def test_the_gateway_of_the_page_runs_commands_and_takes_the_token_of_a_second_try_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with readable_place() as place, account_server(place, "serving") as server:
        reader = _Reader(tmp_path, server)
        shutil.copy(server.keys.user, tmp_path / "gateway_key")
        shutil.copy(server.known_hosts, tmp_path / "known_hosts")
        reader.makes_a_token()
        for name in ("token", "headers", "credential.json", "sealing-keys/2026-11"):
            assert (tmp_path / name).stat().st_mode & 0o077 == 0, name
        monkeypatch.chdir(tmp_path)
        log = tmp_path / "gateway.log"
        log.touch()
        gateway = start_warm_gateway(["--config", "gateway.yaml"], log, log)
        try:
            deadline_s = time.monotonic() + _WITHIN_S
            while "the database is ready" not in log.read_text():
                assert gateway.poll() is None, log.read_text()
                assert time.monotonic() < deadline_s, log.read_text()
                time.sleep(_POLL_S)
            assert (tmp_path / "gateway.db").stat().st_mode & 0o077 == 0
            stored, ran, listed = reader.calls()
            assert stored.status_code == 201, stored.text
            assert (ran.status_code, ran.json()["exitCode"]) == (200, 0), ran.text
            assert "load average" in ran.json()["stdout"]
            assert len(listed.json()["entries"]) == 10, listed.text
            following = requests.get(
                f"{listed.url}&after={listed.json()['next']}", headers=listed.request.headers, timeout=_WITHIN_S
            )
            assert following.json()["entries"][0]["name"] > listed.json()["entries"][-1]["name"]
            reader.makes_a_token()
            while (replaced := reader.calls()[0]).status_code == 401:  # it reads the keys every five seconds at most
                assert "kid names no key" in replaced.text
                assert time.monotonic() < deadline_s, replaced.text
                time.sleep(1)
            assert replaced.status_code == 200, replaced.text
        finally:
            gateway.terminate()
            gateway.wait()
