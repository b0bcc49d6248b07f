"""`python -m sshload_operator.control.run.caller_token ISSUER AUDIENCE SUBJECT ALGORITHM SECONDS`: prints a token.

The output is JSON with `token`, a JWT that is valid for SECONDS, and `jwks`, the key set that verifies it. The private
key is not kept. It is a process of its own, because the signature library would cost the operator 11 MB of memory
permanently.
"""

import json
import sys
import time
from typing import Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm

_KEY_ID: Final = "run"


def token_and_key_set(issuer: str, audience: str, subject: str, algorithm: str, valid_s: int) -> dict[str, str]:
    """Return a new token, signed by an algorithm of Ed25519 keys, and the text of the key set that verifies it."""
    key = Ed25519PrivateKey.generate()
    claims = {"iss": issuer, "aud": audience, "sub": subject, "exp": int(time.time()) + valid_s}
    public = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {
        "token": jwt.encode(claims, key, algorithm, {"kid": _KEY_ID}),
        "jwks": json.dumps({"keys": [{**public, "kid": _KEY_ID, "alg": algorithm, "use": "sig"}]}),
    }


if __name__ == "__main__":
    issuer, audience, subject, algorithm, valid_s = sys.argv[1:]
    made = token_and_key_set(issuer, audience, subject, algorithm, int(valid_s))
    print(json.dumps(made))  # noqa: T201 - to who has started it
