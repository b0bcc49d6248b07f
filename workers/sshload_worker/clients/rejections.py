"""What a server's refusal of credentials says (RFC 4252 section 5.1), in the same words for all client libraries."""

from collections.abc import Sequence

from sshload_contract.client import BY_KEY, Auth
from sshload_contract.shortened import listed
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_MOST_METHODS = 6
_METHOD_CHARACTERS = 24
_PUBLICKEY = "publickey"
_GSSAPI = "gssapi-with-mic"
_PROMPTS = "keyboard-interactive"
_ONLY_ONE = ", but a login here has only one"


def rejection(method: str, offered: Sequence[str], *, accepted: bool = False, first: str = "") -> StepFailure:
    """Return the failure of a login that the server refused.

    `offered` are the methods that the server named with its refusal, none if they are not known. `accepted` says that
    it accepted the credentials, and asks for another method besides. `first` is the method that it had accepted before.
    """
    named = listed([name for name in offered if name], _MOST_METHODS, _METHOD_CHARACTERS)
    if first:
        said = f"the server accepted {first} and refused {method} with these credentials"
        if accepted:
            said = f"the server accepted {first} and {method}, and asks for a third method, {named}"
    elif accepted:
        said = f"the server accepted {method} and asks for a second method, {named}"
        said += ": client.prompts answers keyboard-interactive" if _PROMPTS in offered else _ONLY_ONE
    elif not named:
        said = f"the server refused {method}"
    elif method in offered:
        said = f"the server refused {method} with these credentials; it offers {named}"
    else:
        said = f"the server does not let this user in by {method} alone: it asks for {named}"
    return StepFailure(Outcome.AUTH_REJECTED, said)


def method_of(auth: Auth) -> str:
    """Return the name of the method in the protocol."""
    if auth in BY_KEY:
        return _PUBLICKEY
    return _GSSAPI if auth is Auth.GSSAPI else str(auth)
