import asyncio
import base64
import hashlib
import hmac
import json
import time

import jwt
import pytest
from gateway_process import AUDIENCE, ISSUER, TokenIssuer
from sshload_gateway.identity.tokens import Terms, TokenCheck, TokenError

ISSUED_BY = TokenIssuer()
HOUR_S = 3_600


class _Keys:
    """The keys of these issuers."""

    def __init__(self, *issuers: TokenIssuer) -> None:
        self._keys = {issuer.key_id: jwt.PyJWK(issuer.jwk()) for issuer in issuers}

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        return self._keys.get(key_id)


def _subject(token: str, *algorithms: str) -> str:
    terms = Terms(ISSUER, AUDIENCE, algorithms or ("ES256",), 0)
    return asyncio.run(TokenCheck(terms, _Keys(ISSUED_BY)).identity(token)).subject


def test_the_caller_is_the_subject() -> None:
    assert _subject(ISSUED_BY.token("ada")) == "ada"


def test_one_of_several_audiences_is_enough() -> None:
    assert _subject(ISSUED_BY.token(aud=["other", AUDIENCE])) == "ada"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": int(time.time()) - 1}, "has expired"),
        ({"exp": None}, "has no exp"),
        ({"aud": "other"}, "another audience"),
        ({"aud": None}, "has no aud"),
        ({"iss": "https://elsewhere.example.com"}, "another issuer"),
        ({"iss": None}, "has no iss"),
        ({"sub": None}, "has no sub"),
        ({"sub": ""}, "sub is not"),
        ({"sub": "x" * 256}, "sub is not"),
        ({"sub": "line\nbreak"}, "sub is not"),
        ({"nbf": int(time.time()) + HOUR_S}, "not valid"),
    ],
)
def test_a_token_that_does_not_say_what_it_must_is_refused(claims: dict[str, object], why: str) -> None:
    with pytest.raises(TokenError, match=why):
        _subject(ISSUED_BY.token(**claims))


def test_a_token_of_another_key_of_the_same_id_is_refused() -> None:
    with pytest.raises(TokenError, match="signature"):
        _subject(TokenIssuer().token())


def test_a_key_id_that_the_issuer_has_not_is_refused() -> None:
    with pytest.raises(TokenError, match="kid"):
        _subject(TokenIssuer("second").token())


def test_a_token_without_signature_is_refused() -> None:
    with pytest.raises(TokenError, match="algorithm"):
        _subject(_forged("none", b""))


def test_the_public_key_is_no_secret_to_sign_with() -> None:
    secret = json.dumps(ISSUED_BY.jwk()).encode()
    with pytest.raises(TokenError, match="algorithm"):
        _subject(_forged("HS256", secret))


def test_an_algorithm_that_is_not_pinned_is_refused() -> None:
    with pytest.raises(TokenError, match="algorithm is none of RS256"):
        _subject(ISSUED_BY.token(), "RS256")


def test_an_algorithm_that_is_not_of_the_key_is_refused() -> None:
    with pytest.raises(TokenError, match="not that of its key"):
        _subject(_forged("RS256", b""), "ES256", "RS256")


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "..", "x" * 10_000, "e30.e30.", "\ud800"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(TokenError):
        _subject(token)


def _seen_twice(token: str, *, keys: _Keys, later_s: float = 0.0, then: _Keys | None = None) -> str:
    """Return the caller at the second use of a token: so much later, and with the issuer's keys as they are then."""
    now = [time.time()]

    class _Changing:
        current = keys

        async def key(self, key_id: str) -> jwt.PyJWK | None:
            return await self.current.key(key_id)

    async def use() -> str:
        changing = _Changing()
        check = TokenCheck(Terms(ISSUER, AUDIENCE, ("ES256",), 10), changing, lambda: now[0])
        first = await check.identity(token)
        now[0] += later_s
        changing.current = then or keys
        second = await check.identity(token)
        assert first == second
        return second.subject

    return asyncio.run(use())


def test_a_token_that_was_accepted_is_so_until_it_expires() -> None:
    token = ISSUED_BY.token()
    assert _seen_twice(token, keys=_Keys(ISSUED_BY), later_s=HOUR_S - 60) == "ada"
    with pytest.raises(TokenError, match="has expired"):
        _seen_twice(token, keys=_Keys(ISSUED_BY), later_s=HOUR_S + 11)


def test_a_token_that_was_accepted_is_refused_once_its_key_is_gone_or_another() -> None:
    token = ISSUED_BY.token()
    assert _seen_twice(token, keys=_Keys(ISSUED_BY), then=_Keys(ISSUED_BY)) == "ada"
    with pytest.raises(TokenError, match="kid"):
        _seen_twice(token, keys=_Keys(ISSUED_BY), then=_Keys())
    with pytest.raises(TokenError, match="signature"):
        _seen_twice(token, keys=_Keys(ISSUED_BY), then=_Keys(TokenIssuer()))


def test_the_signature_of_a_token_that_was_accepted_counts_each_time() -> None:
    token = ISSUED_BY.token()
    forged = f"{token.rpartition('.')[0]}.{'A' * 86}"

    async def use() -> None:
        check = TokenCheck(Terms(ISSUER, AUDIENCE, ("ES256",), 0), _Keys(ISSUED_BY))
        await check.identity(token)
        await check.identity(forged)

    with pytest.raises(TokenError, match="signature"):
        asyncio.run(use())


def _forged(algorithm: str, secret: bytes) -> str:
    claims = {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + HOUR_S}
    head = ".".join(_encoded(part) for part in ({"alg": algorithm, "kid": ISSUED_BY.key_id}, claims))
    signature = hmac.new(secret, head.encode(), hashlib.sha256).digest() if secret else b""
    return f"{head}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _encoded(part: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
