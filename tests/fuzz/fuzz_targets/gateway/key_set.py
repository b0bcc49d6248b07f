"""What an issuer serves as its key set.

Input: a JWKS.
Oracle: it is refused as a ValueError, or has keys by their ids, and each has an algorithm.
"""

import json
from collections.abc import Iterator

from sshload_gateway.identity.key_set import parse_key_set

_EC = {
    "kty": "EC",
    "crv": "P-256",
    "kid": "one",
    "use": "sig",
    "alg": "ES256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
_ED = {"kty": "OKP", "crv": "Ed25519", "kid": "two", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
_RSA = {"kty": "RSA", "kid": "three", "n": "sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri", "e": "AQAB"}


def seeds() -> Iterator[bytes]:
    """Yield key sets of each kind, and what is none."""
    for keys in (
        [_EC],
        [_ED],
        [_RSA],
        [_EC, _ED, _RSA],
        [{**_EC, "use": "enc"}],
        [{"kty": "oct", "k": "AA", "kid": "x"}],
    ):
        yield json.dumps({"keys": keys}).encode()
    yield b"[]"
    yield b"[" * 5_000


def check(data: bytes) -> None:
    """Read a key set."""
    try:
        keys = parse_key_set(data)
    except ValueError:
        return
    assert keys
    for key_id, key in keys.items():
        assert isinstance(key_id, str)
        assert key.algorithm_name
