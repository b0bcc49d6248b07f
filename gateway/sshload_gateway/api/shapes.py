"""What requests and answers are made of, in camelCase."""

import base64
import binascii
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from sshload_gateway.ssh.command import CommandOutcome

PREFIX: Final = "/sshapi/v2"
"""Of the paths of all routes."""

NAME: Final = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
NAME_PATTERN: Final = f"^{NAME}$"
RESERVED: Final = ("credentials", "load")
"""Names that routes have."""


class _Shape(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, validate_by_name=True, hide_input_in_errors=True
    )


def _free(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"{name} cannot be the name of a credential: the API reserves it")
    return name


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character")
    return text


class Welcome(_Shape):
    """What the gateway is."""

    service: Literal["sshload-gateway"] = "sshload-gateway"
    version: str = Field(description="The version of sshload.")
    api: Literal["v2"] = "v2"


class CredentialRequest(_Shape):
    """A login to store."""

    name: Annotated[str, Field(pattern=NAME_PATTERN, max_length=63), AfterValidator(_free)] = Field(
        description="Its name in paths. A name that exists gets a new version."
    )
    host: str = Field(min_length=1, max_length=253, description="A DNS name or an address.")
    port: int = Field(default=22, ge=1, le=65_535)
    user: str = Field(pattern=r"^[^\s\x00-\x1f\x7f]+$", min_length=1, max_length=64)
    private_key: str = Field(
        max_length=16_384, description="The private key's file, in OpenSSH's format or PEM, without passphrase."
    )
    host_keys: list[Annotated[str, Field(max_length=4_096)]] = Field(
        min_length=1, max_length=10, description='The keys that the host may show, each as "ssh-ed25519 AAAA...".'
    )


class StoredCredential(_Shape):
    """A stored login, without its private key."""

    name: str
    version: int = Field(description="1, and one more each time it is replaced.")
    host: str
    port: int
    user: str
    public_key: str = Field(description="The public half, as a line of authorized_keys.")
    host_keys: list[str]
    created_at: datetime
    updated_at: datetime


class StoredCredentials(_Shape):
    """All logins of the caller, by name."""

    credentials: list[StoredCredential]


class StartedLoad(_Shape):
    """A load test that was created, and where to follow it."""

    name: str
    namespace: str
    command: str = Field(description="The command that shows its state.")
    page: str | None = Field(description="The URL of its page, null where the gateway knows none.")


class CommandRequest(_Shape):
    """A command to run."""

    command: Annotated[str, AfterValidator(_without_nul)] = Field(
        min_length=1, max_length=65_536, description="What the user's shell is to run."
    )
    stdin: str = Field(default="", description="What the command reads, in the encoding below.")
    encoding: Literal["utf-8", "base64"] = Field(
        default="utf-8", description="Of stdin, stdout and stderr. With utf-8, other bytes come as U+FFFD."
    )
    timeout_seconds: float | None = Field(
        default=None, gt=0, le=86_400, description="At most the gateway's limit, which is also the default."
    )

    @model_validator(mode="after")
    def _decodable(self) -> "CommandRequest":
        try:
            self.stdin_bytes()
        except (binascii.Error, ValueError):
            raise ValueError("stdin cannot be read in its encoding") from None
        return self

    def stdin_bytes(self) -> bytes:
        """Return what the command reads; raises ValueError if it is not in its encoding."""
        return base64.b64decode(self.stdin, validate=True) if self.encoding == "base64" else self.stdin.encode()


class Timings(_Shape):
    """How long the parts of a request took, in seconds."""

    wait_seconds: float = Field(description="The time until there was a session, a login included.")
    login_seconds: float | None = Field(description="The login of the connection, null where it was open before.")
    command_seconds: float = Field(description="The time from the request of a channel to the end of the command.")


class CommandAnswer(_Shape):
    """What a command did."""

    outcome: CommandOutcome = Field(
        description="How it ended. After a timeout, or output that is too long, the gateway ended it. After "
        "connection-lost nobody knows whether it ran to its end."
    )
    exit_code: int | None = Field(description="Null unless it exited.")
    signal: str | None = Field(description="The signal that ended it, without SIG, where one did.")
    has_ended: bool = Field(
        description="Whether the server said that it has ended. Where it is false, the command may still run: OpenSSH "
        "ends no command of root."
    )
    stdout: str
    stderr: str
    encoding: Literal["utf-8", "base64"]
    timings: Timings


class FileEntry(_Shape):
    """One entry of a directory. What the server does not say is null."""

    name: str = Field(description="In UTF-8; other bytes come as U+FFFD.")
    kind: Literal["file", "directory", "symlink", "other", "unknown"]
    size_bytes: int | None
    permissions: str | None = Field(description="In octal, as chmod takes it.")
    modified_at: datetime | None


class FilesAnswer(_Shape):
    """One page of a directory, in the order of the names' bytes."""

    entries: list[FileEntry]
    next: str | None = Field(description="What to give as `after` for the next page; null on the last one.")


def at(seconds: int) -> datetime:
    """Return a time that is given in seconds since 1970; raises ValueError if a calendar has none."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(str(error)) from None
