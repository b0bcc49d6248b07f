"""What is measured: the test that makes the load, and what is read of it."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from go_programs import ROOT

SPECS = ROOT / "docs/measurements/league"
"""The tests, one for each measurement."""

FILE_MB = 16 * 1024 * 1024 / 1e6
HELD_SESSIONS = 100


class Figure(Enum):
    """What is read of a run. A run is bare where an iteration is nothing but a login."""

    LOGIN_CPU = "ms of CPU per login"
    STEP_CPU = "ms of CPU"
    MB_PER_CPU_S = "MB per second of CPU"
    CAPACITY = "logins per second"
    HELD_BYTES = "MB per session"


@dataclass(frozen=True)
class Measurement:
    """A row's test, and the words for it."""

    name: str
    words: str
    figure: Figure

    @property
    def spec(self) -> Path:
        """Return the file of the test."""
        return SPECS / f"{self.name}.yaml"


LOGIN_EQUAL = Measurement("login-equal", "curve25519, Ed25519", Figure.LOGIN_CPU)
LOGIN_DEFAULTS = Measurement("login-defaults", "what both sides prefer", Figure.LOGIN_CPU)
LOGIN_MLKEM = Measurement("login-mlkem768", "mlkem768x25519", Figure.LOGIN_CPU)
LOGIN_OPENSSH = Measurement("login-openssh-curve25519", "curve25519, by `ssh`", Figure.LOGIN_CPU)
LOGIN_SNTRUP = Measurement("login-openssh-sntrup761", "sntrup761x25519, by `ssh`", Figure.LOGIN_CPU)
LOGIN_RSA = Measurement("login-rsa", "RSA, 3,072 bits", Figure.LOGIN_CPU)
LOGIN_ECDSA = Measurement("login-ecdsa", "ECDSA, nistp256", Figure.LOGIN_CPU)
CAPACITY = Measurement("capacity", "logins per second and core", Figure.CAPACITY)
HOLD = Measurement("hold", "memory per held session", Figure.HELD_BYTES)
SFTP_READ = Measurement("sftp-read", "read, ChaCha20-Poly1305", Figure.MB_PER_CPU_S)
SFTP_READ_GCM = Measurement("sftp-read-aes256-gcm", "read, AES-256-GCM", Figure.MB_PER_CPU_S)
SFTP_WRITE = Measurement("sftp-write", "write, ChaCha20-Poly1305", Figure.MB_PER_CPU_S)
SFTP_LIST = Measurement("sftp-list", "10,000 files over SFTP", Figure.STEP_CPU)
LS = Measurement("ls", "10,000 files by `ls`", Figure.STEP_CPU)
EXEC = Measurement("exec", "a command on a live session", Figure.STEP_CPU)
GIT_CLONE = Measurement("git-clone", "git clone of 2,000 files", Figure.STEP_CPU)

WARM_UP = Measurement("warm-up", "what comes before all", Figure.STEP_CPU)
"""Not measured: for servers that are slow at first."""

MEASUREMENTS = (
    LOGIN_EQUAL,
    HOLD,
    LOGIN_DEFAULTS,
    LOGIN_MLKEM,
    LOGIN_RSA,
    LOGIN_ECDSA,
    LOGIN_OPENSSH,
    LOGIN_SNTRUP,
    EXEC,
    SFTP_READ,
    SFTP_READ_GCM,
    SFTP_WRITE,
    SFTP_LIST,
    LS,
    GIT_CLONE,
    CAPACITY,
)
"""All measurements, in the order in which each server meets them."""
