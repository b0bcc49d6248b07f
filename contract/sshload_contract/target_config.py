"""TargetConfig: what PID 1 of a managed target makes and runs."""

from dataclasses import dataclass

TARGET_CONFIG_VERSION = 2

IMAGE_USER = "load"
"""The user of the images, who logs in at managed targets."""
IMAGE_USER_HOME = f"/home/{IMAGE_USER}"


@dataclass(frozen=True, slots=True)
class FileFixture:
    """A file of `size_bytes` in the user's home, under `path`."""

    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DirectoryFixture:
    """A directory in the user's home with `files` empty files in it."""

    path: str
    files: int


@dataclass(frozen=True, slots=True)
class RepositoryFixture:
    """A bare git repository in the user's home: `commits` commits on one branch, `size_bytes` of content in all."""

    path: str
    commits: int
    size_bytes: int


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
