"""Bearer tokens: a JWT of one issuer, for this audience, signed by a key of the issuer's key set."""

from dataclasses import dataclass
from typing import Final, Protocol

import jwt

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""What a configuration may pin: signatures by private keys. No secret is shared with the issuer."""

_LONGEST_TOKEN: Final = 8_192
_LONGEST_SUBJECT: Final = 255


class TokenError(Exception):
    """The token is not accepted, with a sentence that tells nothing of it but what is wrong."""


class KeySet(Protocol):
    """Where the issuer's keys are."""

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return the key of this id, None where there is none; raises KeySetUnavailableError."""
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
    """Who a token is of: its `sub`, and what its claim for load tests says, empty where that is no text."""

    subject: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """Checks tokens."""

    terms: Terms
    keys: KeySet

    async def identity(self, token: str) -> Identity:
        """Return who a token is of that is accepted; raises TokenError, and KeySetUnavailableError."""
        if len(token) > _LONGEST_TOKEN:
            raise TokenError(f"the token is longer than {_LONGEST_TOKEN} characters")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, UnicodeError):
            raise TokenError("the token is not a JWT") from None
        if header.get("alg") not in self.terms.algorithms:
            raise TokenError(f"the token's algorithm is none of {', '.join(self.terms.algorithms)}")
        key_id = header.get("kid")
        key = await self.keys.key(key_id) if isinstance(key_id, str) else None
        if key is None:
            raise TokenError("the token's kid names no key of the issuer's key set")
        if key.algorithm_name != header["alg"]:
            raise TokenError("the token's algorithm is not that of its key")
        claims = self._claims(token, key)
        group = claims.get(self.terms.group_claim) if self.terms.group_claim else None
        return Identity(_subject(claims), group if isinstance(group, str) else "")

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, object]:
        terms = self.terms
        try:
            claims: dict[str, object] = jwt.decode(
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
