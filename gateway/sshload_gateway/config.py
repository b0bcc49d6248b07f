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
from sshload_contract.error_text import reason_of
from sshload_contract.gateway_policy import PolicyName

from sshload_gateway.identity.tokens import ALGORITHMS
from sshload_gateway.ssh.policy import Limits

_LARGEST_PORT: Final = 65_535
_MERGE: Final = "tag:yaml.org,2002:merge"
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LONGEST_NUMBER: Final = 400

_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"

Namespace = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
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

    host: Annotated[str, AfterValidator(_address)] | None = Field(
        default=None, description="The address. Without it, every one, of IPv6 and IPv4."
    )
    port: Port = Field(
        description="The port: 8080 of the API, 9100 of health and metrics, where the section is left out."
    )


class DatabaseConfig(_Section):
    """Where credentials are stored. A URL with a password is given in a file, which is of a Secret."""

    url: str | None = Field(default=None, description="`sqlite:////PATH`, or `postgresql://...` without password.")
    url_file: Annotated[Path, Field(strict=False)] | None = Field(
        default=None, description="A file with the URL, password included."
    )
    answer_s: Seconds = Field(default=5.0, description="How long a transaction may take.")

    @model_validator(mode="after")
    def _one(self) -> "DatabaseConfig":
        if (self.url is None) == (self.url_file is None):
            raise ValueError("give either url or urlFile")
        if self.url is not None and _database_url(self.url).password is not None:
            raise ValueError("url has a password: put the whole URL into a file, and name it as urlFile")
        return self

    def read(self) -> sa.URL:
        """Return the URL; raises ConfigError if its file cannot be read or is none."""
        if self.url is not None:
            return _database_url(self.url)
        path = Path(str(self.url_file))
        try:
            return _database_url(path.read_text(encoding="utf-8").strip())
        except OSError as error:
            raise ConfigError(f"database.urlFile: {path}: {reason_of(error)}") from None
        except ValueError as error:
            raise ConfigError(f"database.urlFile: {path}: {error}") from None


class Tokens(_Section):
    """Whose tokens are accepted."""

    issuer: str = Field(min_length=1, description="What `iss` must be.")
    audience: str = Field(min_length=1, description="What `aud` must have.")
    algorithms: tuple[str, ...] = Field(
        strict=False, min_length=1, description="Which signatures count: RS, PS or ES with 256, 384 or 512; EdDSA."
    )
    jwks_url: str | None = Field(default=None, description="Where the issuer's keys are: https only, but on loopback.")
    jwks_file: Annotated[Path, Field(strict=False)] | None = Field(default=None, description="Or the file with them.")
    leeway_s: float = Field(default=10.0, ge=0, le=300, description="How much clocks may differ.")

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

    folder: Path = Field(
        strict=False, description="Each file is a key of 32 bytes in base64; its name is the key's id."
    )
    active: str = Field(min_length=1, max_length=63, description="The key that seals; the others only open.")


class AllowedDestination(_Section):
    """A host pattern, an address or a range that credentials may name, and the ports there."""

    host: str = Field(description="A pattern of names, an address, leading bytes (`10.1.*`) or a CIDR.")
    ports: tuple[Port, ...] = Field(strict=False, min_length=1, description="The ports there.")

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

    allowed: tuple[AllowedDestination, ...] = Field(default=(), strict=False)
    denied: tuple[Annotated[str, AfterValidator(_range)], ...] = Field(
        default=(), strict=False, description="CIDRs that are denied on top of private and reserved ones."
    )

    def entries(self) -> tuple[AllowedTarget, ...]:
        """Return the allowed destinations as entries of the allow-list."""
        return tuple(AllowedTarget(entry.host, entry.ports) for entry in self.allowed)

    def ranges(self) -> tuple[DeniedRange, ...]:
        """Return the denied ranges as entries of the allow-list."""
        return tuple(DeniedRange(cidr, "denied by this gateway") for cidr in self.denied)


class PoolConfig(_Section):
    """The policy and the limits of the pool of connections."""

    policy: PolicyName = Field(
        default=PolicyName.POOL,
        strict=False,
        description="`login-per-request`, `connection-per-user`, `connection-per-user-unlimited` or `pool`.",
    )
    connections: Count = Field(default=200, description="Connections of this process at most.")
    connections_per_host: Count = Field(default=100, description="To one host and port at most.")
    connections_per_credential: Count = Field(default=4, description="Of one version of a credential at most.")
    sessions: Count = Field(default=1_000, description="Sessions of this process at most.")
    sessions_per_connection: Count = Field(default=10, description="OpenSSH's `MaxSessions` is 10 by default.")
    logins_per_host: Count = Field(
        default=5, description="Logins at the same time; `MaxStartups` begins to drop at 10."
    )
    waiting: Count = Field(default=2_000, description="Requests that may wait for a session.")
    wait_s: Seconds = Field(default=10.0, description="How long a request waits for a session, login included.")
    login_s: Seconds = Field(default=10.0, description="How long a login may take.")
    idle_s: Seconds = Field(default=60.0, description="After this time without a session, a connection is closed.")
    age_s: Seconds = Field(default=3_600.0, description="After this time, a connection gets no more sessions.")
    refusal_pause_s: float = Field(
        default=10.0, ge=0, le=3_600, description="How long the gateway waits before it repeats a refused login."
    )

    def limits(self) -> Limits:
        """Return them as the pool takes them."""
        return Limits(**self.model_dump(exclude={"login_s"}))


class RequestLimits(_Section):
    """What one caller and one request may use."""

    requests_per_second: float = Field(
        default=20.0, gt=0, le=100_000, description="Requests of one caller per second on average, in each process."
    )
    requests_at_once: Count = Field(default=40, description="Requests of one caller in a burst.")
    under_way: Count = Field(default=40, description="Requests of one caller that are under way at the same time.")
    credentials: Count = Field(default=100, description="Credentials of one caller.")
    command_s: Seconds = Field(default=60.0, description="How long a command may run.")
    output_bytes: int = Field(
        default=1024 * 1024, ge=1, le=64 * 1024 * 1024, description="Of stdout and of stderr, each."
    )
    body_bytes: int = Field(default=1024 * 1024, ge=1_024, le=64 * 1024 * 1024, description="Of a request's body.")
    directory_entries: Count = Field(default=10_000, description="Entries of a directory that can be listed.")


class LoadConfig(_Section):
    """Who may start SSHLoadTests by `POST /sshapi/v2/load`, and where. Without this section nobody may."""

    claim: str = Field(
        min_length=1, max_length=255, description="The claim of a token that decides who may start tests."
    )
    namespaces: dict[Annotated[str, Field(min_length=1, max_length=255)], Namespace] = Field(
        min_length=1, description="A map from the text of the claim to the namespace of the tests."
    )
    per_minute: Count = Field(default=6, description="Tests of one caller, by each process.")
    body_bytes: int = Field(default=65_536, ge=1_024, le=1024 * 1024, description="Of a spec.")
    pages_url: str = Field(
        default="", pattern=r"^(https?://[^\s?#]+[^\s?#/])?$", description="The URL of the operator's pages, for links."
    )
    api_server: str = Field(
        default="https://kubernetes.default.svc", pattern=r"^https://[^\s/?#@]+$", description="The API server."
    )
    token_file: Annotated[Path, Field(strict=False)] = Field(
        default=Path(_ACCOUNT, "token"), description="The token of the account that creates tests."
    )
    ca_file: Annotated[Path, Field(strict=False)] = Field(
        default=Path(_ACCOUNT, "ca.crt"), description="The CA certificates to verify the API server's certificate with."
    )


class GivenCredential(_Section):
    """A credential that the gateway stores when it starts, if it is not stored as it is."""

    owner: str = Field(min_length=1, max_length=255, description="Whose it is: the `sub` of tokens.")
    file: Path = Field(strict=False, description="A file with the body of a request that stores a credential.")


class Config(_Section):
    """The whole file."""

    listen: Listen = Listen(port=8080)
    management: Listen = Listen(port=9100)
    database: DatabaseConfig
    tokens: Tokens
    sealing_keys: SealingKeys
    destinations: DestinationsConfig
    credentials: tuple[GivenCredential, ...] = Field(default=(), strict=False, max_length=1_000)
    pool: PoolConfig = PoolConfig()
    limits: RequestLimits = RequestLimits()
    load: LoadConfig | None = None
    shutdown_s: Seconds = Field(default=25.0, description="How long requests may take to end after SIGTERM.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", description="Of the JSON log.")


class _Loader(yaml.SafeLoader):
    """YAML's safe subset, without numbers and merge keys that take more time than the text is long."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if any(key.tag == _MERGE for key, _ in node.value):
            problem = "merge keys (<<) are not supported: write the mapping out"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's own signature
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, ValueError):  # PyYAML's own, of dates, numbers and tags
            problem = "a value is not what its tag or its form says: write a text in quotation marks"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        value = super().construct_scalar(node)
        if node.tag in _NUMBERS and len(value) > _LONGEST_NUMBER:
            problem = f"a number has more than {_LONGEST_NUMBER} characters"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value


def read_config(text: str) -> Config:
    """Return the configuration that a YAML text has; raises ConfigError with all its problems."""
    try:
        document: Any = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:  # its words show the line, which may have a password
        where = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"is not YAML{where}: {error.problem or error.context or 'it cannot be read'}") from None
    except (yaml.YAMLError, RecursionError):
        raise ConfigError("is not YAML, or is nested too deeply") from None
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
    except (sa.exc.ArgumentError, ValueError):
        raise ValueError("is no URL of a database") from None  # what it says has the text, and that a password
    if url.drivername not in ("sqlite", "postgresql"):
        raise ValueError("must begin with sqlite:/// or postgresql://")
    if url.drivername == "sqlite" and not url.database:
        raise ValueError("names no file: write sqlite:////var/lib/sshload-gateway/credentials.db")
    return url


def _is_trustworthy(url: str) -> bool:
    parts = urlsplit(url)
    if not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
