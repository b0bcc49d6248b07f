"""Tickets: what a user shows a server in place of a password, in a private ticket cache of that user.

A worker gets them before the load, as a user has them before a login, and again before they end. So no KDC is part of
what is measured, unless `freshTickets` is set: then each login has a cache of its own, without a ticket for
the server, and asks for one.

The settings of Kerberos are the test's alone: neither this machine's krb5.conf nor the DNS adds any. Every address of a
KDC is one that the caller has found.
"""

import atexit
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from shutil import rmtree
from time import monotonic
from typing import Final, TypeVar, cast

import gevent
from gevent import Greenlet, Timeout
from gevent.threadpool import ThreadPool
from sshload_contract.kerberos import Kerberos
from sshload_contract.vocabulary import Outcome

from sshload_worker.login.gss import GssError, Initiator, fill_by_keytab, fill_by_password, seconds_left
from sshload_worker.outcomes import GeneratorFaultError, StepFailure

_CONFIG: Final = "KRB5_CONFIG"
_VARIABLES: Final = "KRB5"
_RENEWED_AFTER: Final = 0.4
"""This part of a ticket's life: from a half of it on, GSSAPI asks the KDC for a new one within a login."""
_THREADS: Final = 500
_PAUSE_S: Final = 1.0
_PRIVATE_MODE: Final = 0o600
_KEYTAB_VERSION: Final = b"\x05\x02"
_CACHE_VERSIONS: Final = (b"\x05\x03", b"\x05\x04")
_NO_KDC: Final = (
    "Cannot contact any KDC",
    "Cannot find KDC",
    "Cannot resolve network address for KDC",
    "Cannot resolve servers for KDC",
)
"""How krb5's words begin if no KDC answers."""
_NOT_FOUND: Final = "not found in Kerberos database"
_NO_CACHE: Final = "No credentials cache found"
_numbers = count()

T = TypeVar("T")


def kerberos_failure(words: str) -> StepFailure:
    """Return the failure of a login that has no ticket for its server, by Kerberos' words."""
    outcome = Outcome.KDC_UNREACHABLE if words.startswith(_NO_KDC) else Outcome.NO_TICKET
    return StepFailure(outcome, words)


def no_kdc_yet(limit_s: float) -> StepFailure:
    """Return the failure of a login in which no KDC has answered until its time limit."""
    return StepFailure(Outcome.KDC_UNREACHABLE, f"no KDC has answered within {limit_s:g} s")


def ticket_refused(words: str) -> StepFailure:
    """Return the failure of a login whose ticket the server refused, by Kerberos' words."""
    return StepFailure(Outcome.AUTH_REJECTED, f"the server refused the ticket: {words}")


@cache
def _pool() -> ThreadPool:
    """Return the threads that wait for KDCs, made when first needed: a fork has none."""
    return ThreadPool(_THREADS)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="sshload-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


def use_realms(kerberos: Kerberos, addresses: Mapping[tuple[str, int], Iterable[str]]) -> None:
    """Let Kerberos know these realms only. `addresses` are those of each KDC, by its host and port."""
    lines = [
        "[libdefaults]",
        f"default_realm = {kerberos.realms[0].name}",
        "dns_lookup_kdc = false",
        "dns_lookup_realm = false",
        "dns_uri_lookup = false",
        "dns_canonicalize_hostname = false",
        'qualify_shortname = ""',
        "rdns = false",
        "udp_preference_limit = 1",
        "forwardable = false",
        "[realms]",
    ]
    for realm in kerberos.realms:
        kdcs = [
            f"kdc = {f'[{address}]' if ':' in address else address}:{kdc.port}"
            for kdc in realm.kdcs
            for address in addresses[kdc.host, kdc.port]
        ]
        lines += [f"{realm.name} = {{", *kdcs, "}"]
    lines.append("[domain_realm]")
    lines += [f"{domain} = {realm.name}" for realm in kerberos.realms for domain in realm.domains]
    for variable in [name for name in os.environ if name.startswith(_VARIABLES)]:
        del os.environ[variable]
    path = _folder() / "krb5.conf"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    os.environ[_CONFIG] = str(path)


def config_path() -> str:
    """Return the path of the settings, for a program that reads them."""
    return os.environ[_CONFIG]


class Tickets:
    """The tickets of one user for one server. `fill` gets the first one into a new cache; raises GssError."""

    def __init__(self, host: str, fill: Callable[[str], int], *, fresh: bool) -> None:
        self.fresh = fresh
        self._host = host
        self._fill = fill
        self._cache_path = _new_path("cc")
        self._content = b""
        self._renew_at_s = self._end_s = 0.0
        self._refusal = StepFailure(Outcome.NO_TICKET, "there has been no ticket yet")
        self._renewal: Greenlet[[], None] | None = None

    @property
    def failure(self) -> StepFailure | None:
        """Why there is no ticket that is good, None if there is one."""
        if monotonic() < self._end_s:
            return None
        return StepFailure(self._refusal.outcome, self._refusal.message)

    def refusal(self, words: str) -> StepFailure:
        """Return the failure of a login by what Kerberos said in it.

        A ticket for the server was there before, unless each login asks for one. So it was the server that refused it.
        """
        failure = kerberos_failure(words)
        if failure.outcome is Outcome.KDC_UNREACHABLE or (self.fresh and words.endswith(_NOT_FOUND)):
            return failure
        return ticket_refused(words)

    def get(self, limit_s: float) -> None:
        """Get the tickets, or learn why there are none, within so many seconds. To be called before the first login."""
        limit = Timeout(limit_s)
        try:
            with limit:
                self._get()
        except Timeout as over:
            if over is not limit:
                raise
            self._refusal = no_kdc_yet(limit_s)

    def cache_of_login(self, limit_s: float) -> str:
        """Return the path of the cache for the next login, and have the tickets renewed if it is time.

        It waits for so many seconds at most, only if none are good, and soon after a failure it does not ask again.
        `give_back` takes the path after the login.
        """
        if monotonic() >= self._renew_at_s:
            if self.failure is not None:
                self.get(limit_s)
            elif self._renewal is None or self._renewal.ready():
                self._renewal = gevent.spawn(self._get)
        if not self.fresh:
            return self._cache_path
        path = _new_path("cc")
        _write_privately(path, self._content)
        return path

    def give_back(self, path: str) -> None:
        """Remove the cache of a login, if it was its own."""
        if path != self._cache_path:
            _remove(path)

    def _get(self) -> None:
        """Get new tickets in place of those that are there, which stay if that fails."""
        began_s = monotonic()
        try:
            lasts_s = in_a_thread(self._fill_new)
        except GssError as error:
            self._refusal, self._renew_at_s = kerberos_failure(str(error)), monotonic() + _PAUSE_S
        except GeneratorFaultError as error:
            self._refusal, self._renew_at_s = StepFailure(Outcome.GENERATOR_FAULT, str(error)), monotonic() + _PAUSE_S
        else:
            self._renew_at_s, self._end_s = began_s + lasts_s * _RENEWED_AFTER, began_s + lasts_s
            self._refusal = StepFailure(Outcome.NO_TICKET, "the ticket has ended")

    def _fill_new(self) -> int:
        new = _new_path("cc")
        try:
            lasts_s = self._fill(new)
            if self.fresh:
                self._content = Path(new).read_bytes()
            else:
                Initiator(new, self._host).step()
            Path(new).replace(self._cache_path)
        finally:
            _remove(new)
        return lasts_s


def in_a_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call a function that may wait for a KDC, and let other greenlets run meanwhile; raises GssError."""

    def called() -> tuple[T | None, GssError | GeneratorFaultError | None]:
        try:
            return function(*arguments), None
        except (GssError, GeneratorFaultError) as error:  # gevent would print it
            return None, error

    result, error = _pool().apply(called)
    if error is not None:
        raise error
    return cast("T", result)


def by_keytab(content: bytes, user: str, role: str) -> Callable[[str], int]:
    """Return what gets a ticket for a user with a keytab; raises GeneratorFaultError if it is none."""
    if not content.startswith(_KEYTAB_VERSION):
        raise GeneratorFaultError(f"{role} is no keytab of Kerberos 5: `klist -k` lists what is in one")
    path = _keytab_path(content)

    def fill(cache_path: str) -> int:
        try:
            return fill_by_keytab(cache_path, path, user)
        except GssError as error:
            if _NO_CACHE in str(error):  # Kerberos does not look at a keytab without this principal
                raise GeneratorFaultError(f"{role} has no key of {user}: `klist -k` lists what is in it") from None
            raise

    return fill


def by_password(password: str, user: str) -> Callable[[str], int]:
    """Return what gets a ticket for a user with a password."""
    return lambda cache_path: fill_by_password(cache_path, password, user)


def by_ticket_cache(read: Callable[[], bytes], role: str) -> Callable[[str], int]:
    """Return what takes the tickets of a cache that its owner keeps fresh: it is read anew each time.

    Raises GeneratorFaultError if it is none.
    """

    def content() -> bytes:
        found = read()
        if not found.startswith(_CACHE_VERSIONS):
            raise GeneratorFaultError(f"{role} is no file that kinit has written: `klist -c` lists what is in one")
        return found

    def fill(cache_path: str) -> int:
        _write_privately(cache_path, content())
        return seconds_left(cache_path)

    content()
    return fill


@lru_cache(maxsize=16)
def _keytab_path(content: bytes) -> str:
    """Return the path of a keytab, which all its users share."""
    path = _new_path("keytab")
    _write_privately(path, content)
    return path


def _new_path(kind: str) -> str:
    return str(_folder() / f"{kind}{next(_numbers)}")


def _write_privately(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        Path(path).unlink()
