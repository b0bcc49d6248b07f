"""Bearer tokens: a JWT of one issuer, for this audience, signed by a key of the issuer's key set."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import jwt

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""What a configuration may pin: signatures by private keys. No secret is shared with the issuer."""

_LONGEST_TOKEN: Final = 8_192
_LONGEST_SUBJECT: Final = 255
_REMEMBERED: Final = 10_000


class TokenError(Exception):
    """The token is not accepted, with a sentence that tells nothing of it but what is wrong."""


class KeySet(Protocol):
    """Where the issuer's keys are."""

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return the key of this id, None if there is none; raises KeySetUnavailableError."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """What a token must say."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    leeway_s: float
    group_claim: str | None = None
    """The claim that says where a caller may start load tests."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a token is of: its `sub`, and what its claim for load tests says, empty if that is no text."""

    subject: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A token whose signature and claims were checked: by which key, until when it counts, and who it is of."""

    key_id: str
    key: jwt.PyJWK
    until_s: float
    identity: Identity


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """Checks tokens. One that was accepted is so again, until it expires, or the issuer's key set is read again.

    A caller sends the same token with each request, and a signature takes long to check. Of a token only its hash is
    remembered.
    """

    terms: Terms
    keys: KeySet
    clock: Callable[[], float] = time.time
    _accepted: OrderedDict[bytes, _Accepted] = field(default_factory=OrderedDict, init=False, repr=False)

    async def identity(self, token: str) -> Identity:
        """Return who a token is of that is accepted; raises TokenError, and KeySetUnavailableError."""
        if len(token) > _LONGEST_TOKEN:
            raise TokenError(f"the token is longer than {_LONGEST_TOKEN} characters")
        digest = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        known = self._accepted.get(digest)
        if known is not None:
            if self.clock() >= known.until_s:
                raise TokenError("the token has expired")
            if await self.keys.key(known.key_id) is known.key:
                self._accepted.move_to_end(digest)
                return known.identity
        accepted = await self._checked(token)
        self._accepted[digest] = accepted
        self._accepted.move_to_end(digest)
        if len(self._accepted) > _REMEMBERED:
            self._accepted.popitem(last=False)
        return accepted.identity

    async def _checked(self, token: str) -> _Accepted:
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, UnicodeError):
            raise TokenError("the token is not a JWT") from None
        if header.get("alg") not in self.terms.algorithms:
            raise TokenError(f"the token's algorithm is none of {', '.join(self.terms.algorithms)}")
        key_id = header.get("kid")
        key = await self.keys.key(key_id) if isinstance(key_id, str) else None
        if key is None or not isinstance(key_id, str):
            raise TokenError("the token's kid names no key of the issuer's key set")
        if key.algorithm_name != header["alg"]:
            raise TokenError("the token's algorithm is not that of its key")
        claims = self._claims(token, key)
        group = claims.get(self.terms.group_claim) if self.terms.group_claim else None
        identity = Identity(_subject(claims), group if isinstance(group, str) else "")
        return _Accepted(key_id, key, int(claims["exp"]) + self.terms.leeway_s, identity)

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        terms = self.terms
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(terms.algorithms),
                audience=terms.audience,
                issuer=terms.issuer,
                leeway=terms.leeway_s,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError:
            raise TokenError("the token has expired") from None
        except jwt.InvalidAudienceError:
            raise TokenError("the token is for another audience") from None
        except jwt.InvalidIssuerError:
            raise TokenError("the token is of another issuer") from None
        except jwt.MissingRequiredClaimError as error:
            raise TokenError(f"the token has no {error.claim}") from None
        except jwt.PyJWTError:
            raise TokenError("the token's signature or a claim of it is not valid") from None
        return claims


def _subject(claims: dict[str, object]) -> str:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
        raise TokenError(f"the token's sub is not a text of 1 to {_LONGEST_SUBJECT} printable characters")
    return subject
