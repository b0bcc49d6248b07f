"""TargetConfig: what PID 1 of a managed target makes and runs."""

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from sshload_contract.declared import Size, Text, Whole

TARGET_CONFIG_VERSION = 2

IMAGE_USER = "load"
"""The user of the images, who logs in at managed targets."""
IMAGE_USER_HOME = f"/home/{IMAGE_USER}"


_FixturePath: TypeAlias = Annotated[
    str,
    Text(
        longest=100,
        pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*",
        wanted="a path from the home, whose names begin with a letter, digit or underscore",
    ),
    "Its path below the home directory. Names begin with a letter, digit or underscore.",
]


@dataclass(frozen=True, slots=True)
class FileFixture:
    """One file."""

    path: _FixturePath
    size_bytes: Annotated[int, Size("0", "100Gi"), "Its size in bytes, such as 26Ki or 11Mi. At most 100Gi."]


@dataclass(frozen=True, slots=True)
class DirectoryFixture:
    """One directory with empty files in it."""

    path: _FixturePath
    files: Annotated[int, Whole(0, 100_000), "How many files it holds."]


@dataclass(frozen=True, slots=True)
class RepositoryFixture:
    """One bare git repository with a single branch."""

    path: _FixturePath
    commits: Annotated[int, Whole(1, 10_000), "How many commits the branch has."]
    size_bytes: Annotated[
        int, Size("1", "10Gi", example="1Mi"), "The content of all commits together, such as 1Mi. At most 10Gi."
    ]


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """A managed target, as it is read from `--config`.

    `keys_dir` holds `ssh_host_ed25519_key`, `ssh_host_ecdsa_key` `id_ed25519.pub` (the key that may log in) and
    `user_ca.pub` (whose certificates may).
    `home` is the user's home, which is made if need be. `sshd_config` is the rendered file's text without HostKey,
    AuthorizedKeysFile, TrustedUserCAKeys, Port and PidFile lines, which the target adds because it knows the places.
    """

    version: int
    user: str
    home: str
    keys_dir: str
    sshd_config: str
    sshd_port: int
    stats_port: int
    files: tuple[FileFixture, ...]
    directories: tuple[DirectoryFixture, ...]
    repositories: tuple[RepositoryFixture, ...]
