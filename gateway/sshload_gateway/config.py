"""The configuration: one YAML file, read strictly, with all its problems named at once."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import sqlalchemy as sa
import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from sshload_contract.addresses import read_address
from sshload_contract.allow_list import AllowedTarget, DeniedRange, entry_problem, is_loopback, range_problem

from sshload_gateway.identity.tokens import ALGORITHMS
from sshload_gateway.ssh.policy import Limits, PolicyName

_LARGEST_PORT: Final = 65_535

Port = Annotated[int, Field(ge=1, le=_LARGEST_PORT)]
Count = Annotated[int, Field(ge=1, le=100_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


class ConfigError(Exception):
    """The configuration cannot be used: one line for each problem, with the place of it."""


class _Section(BaseModel):
    """A part of the file: no other fields than these, spelled in camelCase, and no types but theirs."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=to_camel, hide_input_in_errors=True
    )


def _address(host: str) -> str:
    if read_address(host) is None:
        raise ValueError("is not an IP address")
    return host


class Listen(_Section):
    """An address and a port to listen at."""

    host: Annotated[str, AfterValidator(_address)] = "0.0.0.0"  # noqa: S104 - in a pod, behind a NetworkPolicy
    port: Port


class DatabaseConfig(_Section):
    """Where credentials are stored. A URL with a password is given in a file, which is of a Secret."""

    url: str | None = None
    url_file: Annotated[Path, Field(strict=False)] | None = None
    answer_s: Seconds = 5.0

    @model_validator(mode="after")
    def _one(self) -> "DatabaseConfig":
        if (self.url is None) == (self.url_file is None):
            raise ValueError("give either url or urlFile")
        if self.url is not None and _database_url(self.url).password is not None:
            raise ValueError("url has a password: put the whole URL into a file, and name it as urlFile")
        return self

    def read(self) -> sa.URL:
        """Return the URL; raises ConfigError where its file cannot be read or is none."""
        if self.url is not None:
            return _database_url(self.url)
        try:
            return _database_url(Path(str(self.url_file)).read_text(encoding="utf-8").strip())
        except OSError as error:
            raise ConfigError(f"database.urlFile: {self.url_file}: {error.strerror}") from None
        except ValueError as error:
            raise ConfigError(f"database.urlFile: {self.url_file}: {error}") from None


class Tokens(_Section):
    """Whose tokens are accepted."""

    issuer: Annotated[str, Field(min_length=1)]
    audience: Annotated[str, Field(min_length=1)]
    algorithms: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    jwks_url: str | None = None
    jwks_file: Annotated[Path, Field(strict=False)] | None = None
    leeway_s: Annotated[float, Field(ge=0, le=300)] = 10.0

    @model_validator(mode="after")
    def _possible(self) -> "Tokens":
        unknown = [name for name in self.algorithms if name not in ALGORITHMS]
        if unknown:
            raise ValueError(f"algorithms has {', '.join(unknown)}; possible are {', '.join(ALGORITHMS)}")
        if (self.jwks_url is None) == (self.jwks_file is None):
            raise ValueError("give either jwksUrl or jwksFile")
        if self.jwks_url is not None and not _is_trustworthy(self.jwks_url):
            raise ValueError("jwksUrl must begin with https://; http:// is for a loopback address only")
        return self


class SealingKeys(_Section):
    """The folder with the sealing keys, and the name of the one that seals."""

    folder: Annotated[Path, Field(strict=False)]
    active: Annotated[str, Field(min_length=1, max_length=63)]


class AllowedDestination(_Section):
    """A host pattern, an address or a range that credentials may name, and the ports there."""

    host: str
    ports: Annotated[tuple[Port, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _readable(self) -> "AllowedDestination":
        problem = entry_problem(self.host)
        if problem:
            raise ValueError(problem)
        return self


def _range(cidr: str) -> str:
    problem = range_problem(cidr)
    if problem:
        raise ValueError(problem)
    return cidr


class DestinationsConfig(_Section):
    """Where the gateway may connect to, and where it may not unless an entry lists that very place."""

    allowed: Annotated[tuple[AllowedDestination, ...], Field(strict=False)] = ()
    denied: Annotated[tuple[Annotated[str, AfterValidator(_range)], ...], Field(strict=False)] = ()

    def entries(self) -> tuple[AllowedTarget, ...]:
        """Return the allowed destinations as entries of the allow-list."""
        return tuple(AllowedTarget(entry.host, entry.ports) for entry in self.allowed)

    def ranges(self) -> tuple[DeniedRange, ...]:
        """Return the denied ranges as entries of the allow-list."""
        return tuple(DeniedRange(cidr, "denied by this gateway") for cidr in self.denied)


class PoolConfig(_Section):
    """The policy and the limits of the pool of connections."""

    policy: Annotated[PolicyName, Field(strict=False)] = PolicyName.POOL
    connections: Count = 200
    connections_per_host: Count = 100
    connections_per_credential: Count = 4
    sessions: Count = 1_000
    sessions_per_connection: Count = 10
    logins_per_host: Count = 5
    waiting: Count = 2_000
    wait_s: Seconds = 10.0
    login_s: Seconds = 10.0
    idle_s: Seconds = 60.0
    age_s: Seconds = 3_600.0
    refusal_pause_s: Annotated[float, Field(ge=0, le=3_600)] = 10.0

    def limits(self) -> Limits:
        """Return them as the pool takes them."""
        return Limits(**self.model_dump(exclude={"login_s"}))


class RequestLimits(_Section):
    """What one caller and one request may use."""

    requests_per_second: Annotated[float, Field(gt=0, le=100_000)] = 20.0
    requests_at_once: Count = 40
    credentials: Count = 100
    command_s: Seconds = 60.0
    output_bytes: Annotated[int, Field(ge=1, le=64 * 1024 * 1024)] = 1024 * 1024
    body_bytes: Annotated[int, Field(ge=1_024, le=64 * 1024 * 1024)] = 1024 * 1024
    directory_entries: Count = 10_000


class Config(_Section):
    """The whole file."""

    listen: Listen = Listen(port=8080)
    management: Listen = Listen(port=9100)
    database: DatabaseConfig
    tokens: Tokens
    sealing_keys: SealingKeys
    destinations: DestinationsConfig
    pool: PoolConfig = PoolConfig()
    limits: RequestLimits = RequestLimits()
    shutdown_s: Seconds = 25.0
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


def read_config(text: str) -> Config:
    """Return the configuration that a YAML text has; raises ConfigError with all its problems."""
    try:
        document: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {' '.join(str(error).split())}") from None
    try:
        return Config.model_validate(document)
    except ValidationError as error:
        raise ConfigError("\n".join(_problem(one) for one in error.errors(include_input=False))) from None


def _problem(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"]) or "the file"
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"


def _database_url(text: str) -> sa.URL:
    try:
        url = sa.make_url(text)
    except sa.exc.ArgumentError:
        raise ValueError("is no URL of a database") from None  # what it says has the text, and that a password
    if url.drivername not in ("sqlite", "postgresql"):
        raise ValueError("begins neither with sqlite:/// nor with postgresql://")
    if url.drivername == "sqlite" and not url.database:
        raise ValueError("names no file: write sqlite:////var/lib/sshload-gateway/credentials.db")
    return url


def _is_trustworthy(url: str) -> bool:
    parts = urlsplit(url)
    if not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
