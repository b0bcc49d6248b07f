"""The population that logs in to a server: whose turn it is, and with which credentials.

A turn finds its user by its number alone. So all workers together have one sequence of users, however many workers
there are, and what is drawn by a seed is the same in each run.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate
from time import process_time, time
from typing import Final, Protocol

import gevent
from gevent.pool import Pool
from sshload_contract.bounds import ContractError
from sshload_contract.client import BY_KEY, DEFAULT_TOTP, Answer, Auth, Client
from sshload_contract.population import Population, read_population, user_name
from sshload_contract.users import (
    USER_MARK,
    DerivedUsers,
    NumberedUsers,
    Pick,
    UsersFile,
    UsersInTurn,
    is_read_otherwise,
)
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint

from sshload_worker.login.certificate import check_user_certificate
from sshload_worker.login.login import (
    NOBODYS,
    Credentials,
    Login,
    credentials_with_key,
    credentials_with_password,
    credentials_with_tickets,
    read_credentials,
    read_file,
)
from sshload_worker.login.private_key import PrivateKey, ed25519_key, read_private_key
from sshload_worker.login.totp import SecondFactor, read_secret
from sshload_worker.login.users_file import (
    CERTIFICATE,
    KEY,
    PASSWORD,
    SOURCE_ADDRESS,
    TOTP,
    USER,
    UsersOfFile,
    read_users,
)
from sshload_worker.outcomes import GeneratorFaultError, StepFailure

_AT_ONCE: Final = 16
_PREPARED_WITHIN_S: Final = 1.0
_USERS_IN_A_TURN: Final = 20
"""For how many users credentials are made before other greenlets get their turn of the event loop."""

_BITS: Final = 53
"""Of a draw: as many as a float has."""


class Users(Protocol):
    """Users by their place, from 0. `weights` are for a weighted pick."""

    @property
    def weights(self) -> Iterable[float]:
        """The weight of each of them."""

    def __len__(self) -> int:
        """Return how many there are."""

    def name(self, place: int) -> str:
        """Return the name of one."""

    def credentials(self, place: int) -> Credentials:
        """Return the credentials of one; raises GeneratorFaultError if they cannot be used."""

    def source_address(self, place: int) -> str:
        """Return the address to connect from, empty for any."""

    def password(self, place: int) -> str:
        """Return what answers a prompt for a password; raises GeneratorFaultError without one."""

    def totp_secret(self, place: int) -> bytes:
        """Return what makes codes; raises GeneratorFaultError without one."""

    def described(self, place: int) -> str:
        """Return which user it is, for a message: without a name from a file, which may be a person's."""


class _Numbered:
    """Users with numbers in their names, who share credentials."""

    def __init__(self, named: NumberedUsers, common: Credentials) -> None:
        self._named = named
        self._common = common
        self.weights: Iterable[float] = ()

    def __len__(self) -> int:
        return len(self._named)

    def name(self, place: int) -> str:
        return self._named.name(place)

    def credentials(self, place: int) -> Credentials:  # noqa: ARG002 - those of all
        return self._common

    def source_address(self, place: int) -> str:  # noqa: ARG002 - any
        return ""

    def password(self, place: int) -> str:  # noqa: ARG002 - that of all
        return self._common.password

    def totp_secret(self, place: int) -> bytes:
        if self._common.second_factor is None:
            raise GeneratorFaultError(f"{self.described(place)}: a TOTP secret is needed")
        return self._common.second_factor.secret

    def described(self, place: int) -> str:
        return f"the user {self.name(place)}"


class _FromFile:
    """Users of a file. Whoever has no credentials of their own there has the `common` ones.

    Keys are read at the first login of their user, because 100,000 of them would take longer than the start may.
    """

    def __init__(self, users: UsersOfFile, auth: Auth, common: Credentials | None, *, is_issued: bool) -> None:
        self._users = users
        self._auth = auth
        self._is_issued = is_issued
        self._common = common
        self._made: dict[int, Credentials] = {}
        self.weights: Iterable[float] = users.weights
        own = KEY if auth in BY_KEY else PASSWORD
        for place in range(len(users)):
            if not users.field(place, own) and common is None:
                raise GeneratorFaultError(
                    f"{users.where(place)}: the field {own} is needed, because the login is by {auth} and the spec"
                    " has no target.external.credentialsSecretRef with one of all users"
                )
            needs_one = auth is Auth.CERTIFICATE and not is_issued and users.field(place, KEY)
            if needs_one and not users.field(place, CERTIFICATE):
                raise GeneratorFaultError(
                    f"{users.where(place)}: the field certificate is needed beside the field key, because the login is"
                    f" by {auth}"
                )

    def __len__(self) -> int:
        return len(self._users)

    def name(self, place: int) -> str:
        return self._users.field(place, USER)

    def credentials(self, place: int) -> Credentials:
        made = self._made.get(place)
        if made is None:
            made = self._made[place] = self._make(place)
        return made

    def source_address(self, place: int) -> str:
        return self._users.field(place, SOURCE_ADDRESS)

    def password(self, place: int) -> str:
        found = self._users.field(place, PASSWORD) or ("" if self._common is None else self._common.password)
        if not found:
            raise GeneratorFaultError(f"{self._users.where(place)}: the field {PASSWORD} is needed to answer prompts")
        return found

    def totp_secret(self, place: int) -> bytes:
        own = self._users.field(place, TOTP)
        if own:
            return read_secret(own, f"{self._users.where(place)}: the field {TOTP}")
        if self._common is None or self._common.second_factor is None:
            raise GeneratorFaultError(f"{self._users.where(place)}: the field {TOTP} is needed to answer prompts")
        return self._common.second_factor.secret

    def described(self, place: int) -> str:
        return self._users.where(place)

    def _make(self, place: int) -> Credentials:
        users, auth = self._users, self._auth
        if self._common is not None and not users.field(place, KEY if auth in BY_KEY else PASSWORD):
            return self._common
        if auth not in BY_KEY:
            return credentials_with_password(auth, users.field(place, PASSWORD))
        key = read_private_key(users.field(place, KEY).encode(), "", f"{users.where(place)}: the key")
        certificate = users.field(place, CERTIFICATE).encode()
        if auth is not Auth.CERTIFICATE or self._is_issued:
            return credentials_with_key(auth, key, None)
        role = f"{users.where(place)}: the certificate"
        return credentials_with_key(auth, key, check_user_certificate(certificate, key.public_blob, time(), role))


class _Derived:
    """Users of a managed target, whose credentials follow from the secret of the population.

    Keys are made at the first login of their user, like those of a file.
    """

    def __init__(self, population: Population, auth: Auth) -> None:
        self._population = population
        self._auth = auth
        self._by_password = credentials_with_password(auth, population.password)
        self._made: dict[int, Credentials] = {}
        self.weights: Iterable[float] = ()

    def __len__(self) -> int:
        return self._population.users

    def name(self, place: int) -> str:
        return user_name(place + 1)

    def credentials(self, place: int) -> Credentials:
        if self._auth not in BY_KEY:
            return self._by_password
        made = self._made.get(place)
        if made is None:
            key = ed25519_key(self._population.key_seed(self.name(place)))
            made = self._made[place] = credentials_with_key(self._auth, key, None)
        return made

    def source_address(self, place: int) -> str:  # noqa: ARG002 - any
        return ""

    def password(self, place: int) -> str:  # noqa: ARG002 - that of all
        return self._population.password

    def totp_secret(self, place: int) -> bytes:
        return self._population.totp_secret(self.name(place))

    def described(self, place: int) -> str:
        return f"the user {self.name(place)}"


class _With(ABC):
    """Users with something more in their credentials (`_make`), which are made once. All else is the users' own."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self._made: dict[int, Credentials] = {}
        self.weights: Iterable[float] = users.weights

    @abstractmethod
    def _make(self, place: int) -> Credentials: ...

    def __len__(self) -> int:
        return len(self._users)

    def name(self, place: int) -> str:
        return self._users.name(place)

    def credentials(self, place: int) -> Credentials:
        made = self._made.get(place)
        if made is None:
            made = self._made[place] = self._make(place)
        return made

    def source_address(self, place: int) -> str:
        return self._users.source_address(place)

    def password(self, place: int) -> str:
        return self._users.password(place)

    def totp_secret(self, place: int) -> bytes:
        return self._users.totp_secret(place)

    def described(self, place: int) -> str:
        return self._users.described(place)


class _WithAnswers(_With):
    """Users who answer prompts, each with their own password and codes."""

    def __init__(self, users: Users, client: Client, *, is_shared: bool) -> None:
        super().__init__(users)
        self._client = client
        self._is_shared = is_shared
        self._takes_password = any(prompt.answer is Answer.PASSWORD for prompt in client.prompts)

    def _make(self, place: int) -> Credentials:
        users, client, found = self._users, self._client, self._users.credentials(place)
        if self._takes_password:
            found = replace(found, password=users.password(place))
        if client.answers_by_codes:
            codes = SecondFactor(users.totp_secret(place), client.totp or DEFAULT_TOTP, self._is_shared)
            found = replace(found, second_factor=codes)
        return replace(found, prompts=client.prompts)


class _WithTickets(_With):
    """Users who log in by Kerberos. Each gets tickets by the password that it has by itself, or else by a keytab."""

    def __init__(self, users: Users, endpoint: Endpoint, client: Client, role: str) -> None:
        super().__init__(users)
        self._endpoint = endpoint
        self._kerberos = client.kerberos
        self._role = role
        if endpoint.ticket_cache_path:
            raise GeneratorFaultError(f"{role}'s ticket cache is of one user: give a keytab with the keys of all users")

    def _make(self, place: int) -> Credentials:
        password = self._users.credentials(place).password
        return credentials_with_tickets(self._endpoint, self._role, self.name(place), password, self._kerberos)

    def get_tickets(self, limit_s: float) -> None:
        """Get the tickets of all users, some at once, before the load: each login would have to wait for its own."""
        every = [tickets for place in range(len(self)) if (tickets := self.credentials(place).tickets) is not None]
        Pool(_AT_ONCE).map(lambda tickets: tickets.get(limit_s), every)


class LoginPopulation:
    """The users of a population in the order of their turns (login.InTurn)."""

    def __init__(self, users: Users, config: UsersInTurn) -> None:
        self._users = users
        self._place_of = _pick(config, users)
        self._most_turns = len(users) if config.pick is Pick.ONCE_PER_USER else None

    def __len__(self) -> int:
        """Return how many users there are."""
        return len(self._users)

    @property
    def most_turns(self) -> int | None:
        """How many turns there are, of all workers together; None for any number."""
        return self._most_turns

    def check_names(self) -> None:
        """Raise GeneratorFaultError if a name cannot stand in a command."""
        for place in range(len(self._users)):
            if is_read_otherwise(self._users.name(place)):
                raise GeneratorFaultError(
                    f"{self._users.described(place)}: the name has a backslash, and the scenario has {USER_MARK} in a"
                    " step, where a shell would not read it as it is written"
                )

    def prepare(self, turns: Iterable[int]) -> None:
        """Make the credentials of the first of these turns, as many as a second of CPU time is enough for.

        To make them costs a quarter of a login. Raises GeneratorFaultError if one cannot be used.
        """
        end_s = process_time() + _PREPARED_WITHIN_S
        for number, turn in enumerate(turns):
            self._users.credentials(self._place_of(turn))
            if number % _USERS_IN_A_TURN == 0:
                if process_time() > end_s:
                    return
                gevent.sleep(0)

    def described(self, place: int) -> str:
        """Return which user it is, for a message: without a name from a file, which may be a person's."""
        return self._users.described(place)

    def place_of(self, turn: int) -> int:
        """Return whose turn it is, by their place from 0."""
        return self._place_of(turn)

    def login_of(self, login: Login, turn: int) -> Login:
        """Return the Login with the user whose turn it is; raises StepFailure if their credentials cannot be used."""
        place, users = self._place_of(turn), self._users
        try:
            credentials = users.credentials(place)
        except GeneratorFaultError as error:
            raise StepFailure(Outcome.GENERATOR_FAULT, str(error)) from None
        return Login(
            login.address,
            login.host,
            login.port,
            users.name(place),
            credentials,
            login.host_keys,
            login.client,
            login.via,
            None,
            None,
            place,
            users.source_address(place),
            login.issuer,
            login.extra_keys,
            login.revoked_share,
        )

    def keys(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the public key of each user; raises GeneratorFaultError if it cannot be used."""
        for place in range(len(self._users)):
            yield self._users.name(place), self._users.credentials(place).public_key


def prepare_population(  # noqa: PLR0913 - what the users are, and where
    endpoint: Endpoint,
    config: UsersInTurn,
    client: Client,
    role: str,
    extra_keys: tuple[PrivateKey, ...] = (),
    *,
    is_direct: bool,
    is_shared: bool = False,
) -> LoginPopulation:
    """Return the users who log in to a server; raises GeneratorFaultError, which calls it `role`.

    It `is_direct` if no jump host is before it. An agent that they share has the `extra_keys` too. With `is_shared`,
    other workers log in as the same users.
    """
    common: Credentials | None = None
    has_files = endpoint.private_key_path or endpoint.password_path or endpoint.keytab_path
    if not isinstance(config.source, DerivedUsers) and has_files:
        common = NOBODYS if endpoint.keytab_path else read_credentials(endpoint, role, client, extra_keys)
    users: Users
    match config.source:
        case DerivedUsers(path, count):
            users = _Derived(_read_secret(path, count, role), endpoint.auth)
        case UsersFile(path):
            found = read_users(path, f"the users of {role}")
            users = _FromFile(found, endpoint.auth, common, is_issued=bool(endpoint.user_ca_path))
        case NumberedUsers() as named:
            if common is None:
                raise GeneratorFaultError(f"the credentials of {role} are needed: all its users share them")
            users = _Numbered(named, common)
    if endpoint.auth is Auth.GSSAPI:
        users = _WithTickets(users, endpoint, client, role)
        users.get_tickets(client.timeouts.auth_s)
    if client.prompts:
        users = _WithAnswers(users, client, is_shared=is_shared)
    refusal = _no_source_address(client, is_direct=is_direct)
    if refusal and (place := next((one for one in range(len(users)) if users.source_address(one)), None)) is not None:
        raise GeneratorFaultError(f"{users.described(place)}: the field {SOURCE_ADDRESS} cannot be used: {refusal}")
    return LoginPopulation(users, config)


def _read_secret(path: str, count: int, role: str) -> Population:
    try:
        return read_population(read_file(path, f"the secret of the users of {role}").decode("ascii", "replace"), count)
    except ContractError as error:
        raise GeneratorFaultError(f"the secret of the users of {role}: {error}") from None


def _no_source_address(client: Client, *, is_direct: bool) -> str:
    """Return why users cannot have source addresses, empty if they can."""
    if not is_direct:
        return "the connection is to a jump host, which all users share"
    if client.network_delay_s:
        return "the relay of client.networkDelay makes the connection"
    return "" if client.library.traits.chooses_source else f"{client.library} has no such setting"


def _pick(config: UsersInTurn, users: Users) -> Callable[[int], int]:
    """Return the function from a turn to the place of its user."""
    size = len(users)
    match config.pick:
        case Pick.ROUND_ROBIN | Pick.ONCE_PER_USER:
            return lambda turn: turn % size
        case Pick.RANDOM:
            return lambda turn: _draw(config.seed, turn) * size >> _BITS
        case Pick.WEIGHTED:
            return _by_weight(config.seed, users.weights)
        case Pick.ZIPF:
            return _by_weight(config.seed, (rank**-config.exponent for rank in range(1, size + 1)))


def _by_weight(seed: int, weights: Iterable[float]) -> Callable[[int], int]:
    bounds: Sequence[float] = tuple(accumulate(weights))
    last, scale = len(bounds) - 1, bounds[-1] / (1 << _BITS)
    return lambda turn: min(bisect_right(bounds, _draw(seed, turn) * scale), last)


def _draw(seed: int, turn: int) -> int:
    """Return a number of _BITS bits for a turn: those of all turns are as if drawn independently."""
    digest = blake2b(turn.to_bytes(8, "big"), digest_size=8, key=seed.to_bytes(8, "big")).digest()
    return int.from_bytes(digest, "big") >> (64 - _BITS)
