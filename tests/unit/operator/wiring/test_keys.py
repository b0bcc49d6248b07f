import asyncio
import subprocess
import tempfile
from pathlib import Path

import pytest
from sshload_operator.control.keys import Keys, KeysError, known_hosts_line, make_keys
from sshload_operator.manifests import KEY_FILES


@pytest.fixture(scope="module")
def keys() -> Keys:
    return asyncio.run(make_keys("target", 2222))


def test_the_files_are_those_that_the_secret_holds(keys: Keys) -> None:
    assert set(keys.files()) == set(KEY_FILES)


def test_the_public_key_belongs_to_the_private_one(keys: Keys, tmp_path: Path) -> None:
    assert public_part(keys.login_private, tmp_path) == keys.login_public.split()[:2]


def test_known_hosts_names_both_host_keys_for_host_and_port(keys: Keys, tmp_path: Path) -> None:
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(keys.known_hosts)
    found = subprocess.run(["ssh-keygen", "-F", "[target]:2222", "-f", known_hosts], capture_output=True, check=True)
    listed = [line.split()[1:] for line in found.stdout.decode().splitlines() if not line.startswith("#")]
    assert sorted(listed) == sorted(public_part(private, tmp_path) for private in keys.host_private.values())


def test_on_the_port_22_a_host_stands_by_itself() -> None:
    assert known_hosts_line("bastion", 22, "ssh-ed25519 AAAA comment") == "bastion ssh-ed25519 AAAA\n"


def test_no_key_shows_where_keys_are_printed(keys: Keys) -> None:
    assert repr(keys) == "Keys()"


def test_every_run_gets_other_keys(keys: Keys) -> None:
    assert asyncio.run(make_keys("target", 2222)).login_private != keys.login_private


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    asyncio.run(make_keys("target", 2222))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_ssh_keygen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(KeysError, match="openssh-client"):
        asyncio.run(make_keys("target", 2222))


def public_part(private: str, folder: Path) -> list[str]:
    path = folder / "key"
    path.touch(mode=0o600)
    path.write_text(private)
    shown = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, check=True)
    return shown.stdout.decode().split()[:2]
