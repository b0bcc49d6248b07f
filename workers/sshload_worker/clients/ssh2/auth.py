"""How a libssh2 session logs in (RFC 4252, RFC 4256)."""

from functools import partial
from typing import Any

from ssh2.agent import Agent
from ssh2.exceptions import AgentAuthenticationError, AgentError
from ssh2.utils import handle_error_codes
from sshload_contract.run_config import Auth
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.login.login import Credentials
from sshload_worker.outcomes import StepFailure


def authenticate(driver: Driver, user: str, credentials: Credentials) -> None:
    """Log in as the credentials say; raises StepFailure where the server refuses, or the credentials are no good."""
    session = driver.session
    match credentials.auth:
        case Auth.PUBLICKEY:
            key_auth = partial(session.userauth_publickey_frommemory, user, credentials.private_key)
            driver.until_done(Step.AUTH, key_auth, "", None)
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
    """Log in with the agent's first key. Each word with the agent blocks the worker: about 0.1 ms on this machine's."""
    agent = Agent(driver.session)
    agent.set_identity_path(agent_socket)
    try:
        agent.connect()
        identity = agent.get_identities()[0]
    except (AgentError, IndexError) as error:
        raise StepFailure(Outcome.GENERATOR_FAULT, f"the ssh-agent gave no key: {type(error).__name__}") from None
    driver.until_done(Step.AUTH, partial(_try_agent, driver.session, agent), user, identity)


def _try_agent(session: Any, agent: Agent, user: str, identity: Any) -> int:
    try:
        return int(agent.userauth(user, identity))
    except AgentAuthenticationError:  # which the binding makes of any error
        handle_error_codes(session.last_errno())
        raise
