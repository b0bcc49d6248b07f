"""How a libssh2 session logs in (RFC 4252, RFC 4256)."""

from functools import partial

from sshload_contract.client import Auth
from sshload_contract.vocabulary import Step

from sshload_worker.clients.ssh2.agent import Agent
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.clients.ssh2.signed_login import SignedLogin
from sshload_worker.login.login import Credentials


def authenticate(driver: Driver, user: str, credentials: Credentials) -> None:
    """Log in as the credentials say; raises StepFailure where the server refuses, or the credentials are no good."""
    session = driver.session
    match credentials.auth:
        case Auth.PUBLICKEY:
            key_auth = partial(session.userauth_publickey_frommemory, user, credentials.private_key)
            driver.until_done(Step.AUTH, key_auth, "", credentials.public_key)  # else libssh2 would compute it
        case Auth.CERTIFICATE:
            key_auth = partial(session.userauth_publickey_frommemory, user, credentials.private_key)
            driver.until_done(Step.AUTH, key_auth, "", credentials.certificate)
        case Auth.PASSWORD:
            driver.until_done(Step.AUTH, session.userauth_password, user, credentials.password)
        case Auth.KEYBOARD_INTERACTIVE:
            answer = partial(_answers, credentials.password)
            driver.until_done(Step.AUTH, session.userauth_keyboardinteractive_callback, user, answer)
        case Auth.AGENT:
            _authenticate_by_agent(driver, user, credentials.agent_socket)


def _answers(password: str, _name: bytes, _instruction: bytes, prompts: list[str]) -> list[str]:
    return [password] * len(prompts)


def _authenticate_by_agent(driver: Driver, user: str, agent_socket: str) -> None:
    with Agent(agent_socket) as agent:
        key = agent.first_key()
        login = SignedLogin(driver.session, user, key)
        driver.until_done(Step.AUTH, login.attempt)
        asked = login.signature
        if asked.to_sign:
            asked.signature = agent.sign(key, asked.to_sign, asked.algorithm)
            driver.until_done(Step.AUTH, login.attempt)
