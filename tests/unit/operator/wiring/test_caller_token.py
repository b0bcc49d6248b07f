"""The token of a gateway's caller, and the key set that verifies it and nothing else."""

import json
import time
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from jwt.algorithms import OKPAlgorithm
from sshload_operator.control.run import caller_token
from sshload_operator.control.run.caller_token import token_and_key_set
from sshload_operator.manifests.gateway import AUDIENCE, CALLER, ISSUER, SIGNATURE


def made(valid_s: int = 1_800) -> tuple[str, dict[str, Any]]:
    """Return a token, and the only key of its key set."""
    found = token_and_key_set(ISSUER, AUDIENCE, CALLER, SIGNATURE, valid_s)
    assert set(found) == {"token", "jwks"}
    (key,) = json.loads(found["jwks"])["keys"]
    return found["token"], key


def claims(token: str, key: dict[str, Any]) -> dict[str, Any]:
    taken: dict[str, Any] = jwt.decode(
        token, OKPAlgorithm.from_jwk(key), [SIGNATURE], audience=AUDIENCE, issuer=ISSUER, options={"verify_exp": False}
    )
    return taken


def test_a_token_says_who_calls_whom_and_until_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_token, "time", SimpleNamespace(time=lambda: 1_000.9))
    token, key = made(valid_s=1_800)
    assert claims(token, key) == {"iss": ISSUER, "aud": AUDIENCE, "sub": CALLER, "exp": 2_800}


def test_a_token_is_valid_from_now_on() -> None:
    token, key = made(valid_s=600)
    assert 0 < claims(token, key)["exp"] - time.time() <= 600


def test_the_token_names_the_key_that_verifies_it_which_is_for_that_alone() -> None:
    token, key = made()
    assert jwt.get_unverified_header(token) == {"alg": SIGNATURE, "typ": "JWT", "kid": key["kid"]}
    assert {name: key[name] for name in key if name != "x"} == {
        "kty": "OKP",
        "crv": "Ed25519",
        "kid": key["kid"],
        "alg": SIGNATURE,
        "use": "sig",
    }


def test_the_key_of_another_token_does_not_verify_it() -> None:
    token, _ = made()
    with pytest.raises(jwt.InvalidSignatureError):
        claims(token, made()[1])
