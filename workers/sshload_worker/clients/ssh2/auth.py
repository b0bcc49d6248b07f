"""Authentication of a libssh2 session (RFC 4252, RFC 4256): by password, key or agent (draft-miller-ssh-agent).

libssh2's own agent client blocks the whole worker, forever if the agent dies, and closes a file descriptor twice if
there is no agent. So Agent talks to the agent through gevent, and SignedLogin passes the signature to libssh2.
"""

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from gevent import socket
from ssh2.exceptions import AuthenticationError, PublickeyUnverifiedError
from ssh2.nonblocking import InteractiveLogin, SignedLogin, said_of_login
from sshload_contract.client import Auth
from sshload_contract.error_text import reason_of
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.authentication import Authentication
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.login.login import Login
from sshload_worker.login.wire import WireError, WireReader, wire_string
from sshload_worker.outcomes import StepFailure

_REQUEST_IDENTITIES = b"\x0b"
_IDENTITIES_ANSWER = 12
_SIGN_REQUEST = b"\x0d"
_SIGN_RESPONSE = 14
_ANSWER_LIMIT_BYTES = 262_144  # the limit of OpenSSH's agent and clients
_MOST_KEYS = 64
_REFUSALS = (AuthenticationError.__name__, PublickeyUnverifiedError.__name__)
_NEW_PASSWORD = f"{AuthenticationError.__name__}: Authentication failed"
"""What libssh2 says of a server that asks for a new password: of one that refuses it says by what."""

_MANY_PROMPTS = "Too many replies"  # libssh2's own limit is 100
_MOST_TEXTS = 64  # our patch's
_RSA_FLAGS = {b"rsa-sha2-256": 2, b"rsa-sha2-512": 4}


def authenticate(driver: Driver, login: Login, authentication: Authentication) -> None:
    """Log in with the login's credentials; raises StepFailure if the server refuses them or they cannot be used."""
    if login.credentials.auth is not Auth.KEYBOARD_INTERACTIVE:
        try:
            _by_first_method(driver, login)
        except StepFailure as failure:
            offered, accepted = _refusal(driver, authentication, failure)
            if not accepted:
                raise authentication.refused(offered) from None
        else:
            authentication.end(is_accepted=True)
            return
        authentication.accepted(offered)
    try:
        prompted = InteractiveLogin(driver.session, login.user.encode(), authentication.answer)
        driver.until_done(Timing.AUTH, prompted.attempt)
    except StepFailure as failure:
        offered, accepted = _refusal(driver, authentication, failure)
        raise authentication.refused(offered, accepted=accepted) from None
    authentication.end(is_accepted=True)


def _by_first_method(driver: Driver, login: Login) -> None:
    session, user, credentials = driver.session, login.user, login.credentials
    match credentials.auth:
        case Auth.PUBLICKEY | Auth.CERTIFICATE:
            for key in login.extra_keys:
                _offer(driver, partial(_log_in_by, driver, user, key.openssh, key.public_line))
            public = credentials.certificate_line or credentials.public_key  # so that libssh2 need not compute it
            _log_in_by(driver, user, credentials.private_key, public)
        case Auth.PASSWORD:
            driver.until_done(Timing.AUTH, session.userauth_password, user, credentials.password)
        case Auth.AGENT:
            _authenticate_by_agent(driver, user, credentials.agent_socket)


def _log_in_by(driver: Driver, user: str, private: bytes, public: bytes) -> None:
    driver.until_done(Timing.AUTH, driver.session.userauth_publickey_frommemory, user, private, "", public)


def _offer(driver: Driver, log_in: Callable[[], None]) -> bool:
    """Return whether a key logs in; raises StepFailure if the server ends the connection, or asks for more besides."""
    try:
        log_in()
    except StepFailure as failure:
        if failure.outcome is not Outcome.AUTH_REJECTED or _answer_of(driver)[1]:
            raise
        return False
    return True


def _refusal(driver: Driver, authentication: Authentication, failure: StepFailure) -> tuple[list[str], bool]:
    """Return the methods that the server offers with its refusal, and whether it accepted what it was given.

    Raises StepFailure for a failure that is no such answer.
    """
    texts, count, _ = said_of_login(driver.session)
    authentication.says(texts)
    if failure.message == _NEW_PASSWORD:
        raise authentication.asked_for_new_password()
    if count > _MOST_TEXTS:
        raise StepFailure(failure.outcome, f"the server sent more than {_MOST_TEXTS} texts during the login")
    if _MANY_PROMPTS in failure.message:
        raise authentication.too_many_prompts("more than 100")
    if not failure.message.startswith(_REFUSALS):
        raise authentication.failed(failure)
    return _answer_of(driver)


def _answer_of(driver: Driver) -> tuple[list[str], bool]:
    """Return what the server's last refusal has: the methods that can continue, and whether it accepted this one."""
    told = WireReader(said_of_login(driver.session)[2][1:])
    try:
        return told.text().split(","), bool(told.fixed(1)[0])
    except WireError:
        return [], False


def _authenticate_by_agent(driver: Driver, user: str, agent_socket: str) -> None:
    """Offer the agent's keys in their order, as ssh does."""
    with Agent(agent_socket) as agent:
        *others, last = agent.keys()
        for key in others:
            if _offer(driver, partial(_log_in_by_agent, driver, user, agent, key)):
                return
        _log_in_by_agent(driver, user, agent, last)


def _log_in_by_agent(driver: Driver, user: str, agent: "Agent", key: bytes) -> None:
    login = SignedLogin(driver.session, user.encode(), key)
    driver.until_done(Timing.AUTH, login.attempt)
    if login.to_sign:
        login.signature = agent.sign(key, login.to_sign, _signature_algorithm(login.to_sign))
        driver.until_done(Timing.AUTH, login.attempt)


def _signature_algorithm(to_sign: bytes) -> bytes:
    """Return the algorithm to sign the data of a login with (RFC 4252 section 7)."""
    signed = WireReader(to_sign)
    signed.string()  # the session's identifier
    signed.fixed(1)  # the message's number
    for _ in range(3):  # user, service, method
        signed.string()
    signed.fixed(1)
    return signed.string()


class Agent:
    """A connection to an agent, for use in a with statement; raises StepFailure if the agent fails."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._path = path

    def __enter__(self) -> Self:
        try:
            self._socket.connect(self._path)
        except OSError as error:
            self._socket.close()
            raise _agent_failure(f"cannot be reached: {reason_of(error)}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def keys(self) -> list[bytes]:
        """Return the agent's public keys in wire form, at least one."""
        answer = self._ask(_REQUEST_IDENTITIES, _IDENTITIES_ANSWER)
        found = []
        for _ in range(min(answer.uint32(), _MOST_KEYS)):
            found.append(answer.string())
            answer.string()  # the comment
        if not found:
            raise _agent_failure("holds no key")
        return found

    def sign(self, key: bytes, data: bytes, algorithm: bytes) -> bytes:
        """Return the signature of `data`, without the name of its algorithm."""
        flags = _RSA_FLAGS.get(algorithm, 0).to_bytes(4, "big")
        answer = self._ask(_SIGN_REQUEST + wire_string(key) + wire_string(data) + flags, _SIGN_RESPONSE)
        signature = WireReader(answer.string())
        signature.string()
        return signature.string()

    def _ask(self, request: bytes, expected: int) -> WireReader:
        try:
            self._socket.sendall(wire_string(request))
            length = int.from_bytes(self._receive(4), "big")
            answer = WireReader(self._receive(min(length, _ANSWER_LIMIT_BYTES)))
            if answer.fixed(1)[0] != expected:
                raise _agent_failure("did not fulfil the request")
        except OSError as error:
            raise _agent_failure(f"does not answer: {reason_of(error)}") from None
        except WireError:
            raise _agent_failure("sent a malformed reply") from None
        return answer

    def _receive(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            piece = self._socket.recv(size - len(received))
            if not piece:
                raise _agent_failure("closed the connection")
            received += piece
        return received


def _agent_failure(what: str) -> StepFailure:
    return StepFailure(Outcome.GENERATOR_FAULT, f"the ssh-agent {what}")
