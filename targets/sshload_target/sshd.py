"""The sshd program: where it is, which it is, whether it takes a configuration, and its start."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from sshload_target.errors import ConfigRefusedError

_SEARCH_PATH = "/usr/sbin:/usr/local/sbin:/sbin"
_PRIVILEGE_SEPARATION_DIR = Path("/run/sshd")
_CHECK_TIMEOUT_S = 30
_KEY_LEFT_OUT = "Unable to load host key"


def find_sshd() -> Path:
    """Return the sshd of this machine; sshd insists on being called by an absolute path."""
    found = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:{_SEARCH_PATH}")
    if found is None:
        raise ConfigRefusedError("there is no sshd on this machine: install openssh-server")
    return Path(found).absolute()


def read_version(sshd: Path) -> str:
    """Return what `sshd -V` calls itself, such as OpenSSH_10.0p2 Debian-7."""
    answer = _run(sshd, "-V")
    found = re.search(r"OpenSSH_[^,\r\n]+", answer.stderr + answer.stdout)
    return found[0].strip() if found else "unknown"


def read_effective_config(sshd: Path, config: Path) -> str:
    """Return the effective configuration (`sshd -T`); raises ConfigRefusedError with sshd's message if it has none."""
    if os.geteuid() == 0:
        _PRIVILEGE_SEPARATION_DIR.mkdir(mode=0o755, parents=True, exist_ok=True)
    answer = _run(sshd, "-T", "-f", str(config))
    if answer.returncode != 0 or _KEY_LEFT_OUT in answer.stderr:  # sshd would go on with the other host key
        raise ConfigRefusedError(f"sshd refuses its configuration: {' '.join(answer.stderr.split())}")
    return answer.stdout


def _run(sshd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- the program is the installer's choice, the arguments are ours
        [str(sshd), *arguments], capture_output=True, text=True, check=False, timeout=_CHECK_TIMEOUT_S
    )


def start(sshd: Path, config: Path) -> tuple[int, int]:
    """Start sshd in the foreground and return its process id and the descriptor from which its log can be read.

    sshd starts with no signal blocked and none ignored, whatever is so in this process.
    """
    log_fd, sshd_stderr = os.pipe()
    try:
        pid = os.posix_spawn(
            sshd,
            [str(sshd), "-D", "-e", "-f", str(config)],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, sshd_stderr, 2),
            ],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    finally:
        os.close(sshd_stderr)
    return pid, log_fd
