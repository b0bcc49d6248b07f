"""The installed sshd takes what we render, and means by it what was asked for."""

import os
import subprocess
from pathlib import Path

import plans
import pytest
import yaml
from running_target import WITHIN_S
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.local.sshd import SSHD_PATH, installed_sshd
from sshload_operator.manifests.target import sshd_config

SEPARATION_FOLDER = Path("/run/sshd")
PENALTIES_SINCE = (9, 8)


def config_of(sshd: object) -> str:
    target = plans.plan(plans.quickstart(target={"managed": {"sshd": sshd}})).spec.target
    assert isinstance(target, ManagedTarget)
    return sshd_config(target)


@pytest.fixture
def effective(tmp_path: Path) -> "Effective":
    return Effective(tmp_path)


class Effective:
    """What the installed sshd makes of a configuration; the directives that it is too old for are left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host_key = folder / "host_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self._host_key], check=True)
        if os.geteuid() == 0:
            SEPARATION_FOLDER.mkdir(mode=0o755, exist_ok=True)

    def __call__(self, config: str) -> dict[str, str]:
        """Return the settings by name, several lines of a name as one; raises AssertionError with sshd's words."""
        known = installed_sshd().version >= PENALTIES_SINCE
        lines = [line for line in config.splitlines() if known or not line.lower().startswith("persourcepenalties ")]
        file = self._folder / "sshd_config"
        file.write_text("\n".join([*lines, f"HostKey {self._host_key}", ""]))
        command = [SSHD_PATH, "-T", "-f", file]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN_S)
        assert done.returncode == 0, done.stderr
        settings: dict[str, str] = {}
        for name, _, value in (line.partition(" ") for line in done.stdout.splitlines()):
            settings[name] = f"{settings[name]} {value}" if name in settings else value
        return settings


def test_every_knob_reaches_sshd(effective: Effective) -> None:
    case = Path(__file__).parents[2] / "golden/sshd_config/everything/spec.yaml"
    settings = effective(config_of(yaml.safe_load(case.read_text())))
    expected = {
        "maxstartups": "3000:30:3000",
        "maxsessions": "3000",
        "persourcemaxstartups": "50",
        "logingracetime": "30",
        "usedns": "yes",
        "kexalgorithms": "curve25519-sha256,ecdh-sha2-nistp256",
        "ciphers": "aes128-gcm@openssh.com",
        "macs": "hmac-sha2-256-etm@openssh.com",
        "hostkeyalgorithms": "ssh-ed25519,ecdsa-sha2-nistp256",
        "compression": "yes",  # sshd's newer word for delayed
        "rekeylimit": "1073741824 3600",
        "loglevel": "VERBOSE",
        "subsystem": "sftp /usr/lib/openssh/sftp-server -l INFO",
    }
    assert {name: settings[name] for name in expected} == expected


def test_by_default_only_keys_of_the_load_user_get_in(effective: Effective) -> None:
    settings = effective(config_of({}))
    expected = {
        "allowusers": "load",
        "pubkeyauthentication": "yes",
        "passwordauthentication": "no",
        "kbdinteractiveauthentication": "no",
        "usepam": "no",
        "usedns": "no",
        "strictmodes": "yes",
        "subsystem": "sftp internal-sftp",
    }
    assert {name: settings[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("extra", "name", "value"),
    [
        pytest.param({"ClientAliveInterval": "15"}, "clientaliveinterval", "15", id="one of its own"),
        pytest.param({"strictmodes": "no"}, "strictmodes", "no", id="ours, in other letters"),
        pytest.param({"AllowUsers": "load other"}, "allowusers", "load other", id="one that adds up"),
        pytest.param(
            {"ChallengeResponseAuthentication": "yes"},
            "kbdinteractiveauthentication",
            "yes",
            id="ours, by its older name",
        ),
    ],
)
def test_an_extra_directive_wins(effective: Effective, extra: dict[str, str], name: str, value: str) -> None:
    assert effective(config_of({"extraConfig": extra}))[name] == value
