"""An issuer of tokens: its private key, its JWKS, and tokens that say what a test wants."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key

ISSUER = "https://issuer.example.com"
AUDIENCE = "sshload-gateway"
_AN_HOUR_S = 3_600


@dataclass(frozen=True)
class TokenIssuer:
    """Signs tokens by ES256."""

    key_id: str = "first"
    private_key: EllipticCurvePrivateKey = field(default_factory=lambda: generate_private_key(SECP256R1()))

    def jwk(self) -> dict[str, Any]:
        """Return the public half."""
        public: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.private_key.public_key()))
        return {**public, "kid": self.key_id, "alg": "ES256", "use": "sig"}

    def jwks(self) -> str:
        """Return the key set."""
        return json.dumps({"keys": [self.jwk()]})

    def token(self, subject: str = "ada", **claims: object) -> str:
        """Return a token that is accepted but for what `claims` change; None leaves a claim out."""
        usual = {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + _AN_HOUR_S}
        said = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(said, self.private_key, "ES256", {"kid": self.key_id})
