from pathlib import Path
from typing import Any

import pytest
import yaml
from sshload_contract.gateway_policy import PolicyName
from sshload_gateway.config import ConfigError, read_config

LEAST: dict[str, Any] = {
    "database": {"url": "sqlite:////var/lib/gateway.db"},
    "tokens": {
        "issuer": "https://issuer.example.com",
        "audience": "gateway",
        "algorithms": ["ES256"],
        "jwksUrl": "https://issuer.example.com/jwks",
    },
    "sealingKeys": {"folder": "/etc/seal", "active": "first"},
    "destinations": {"allowed": [{"host": "*.example.com", "ports": [22]}]},
}


def _problems(**changes: object) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        read_config(yaml.safe_dump({**LEAST, **changes}))
    return str(refused.value).splitlines()


def test_the_rest_has_defaults() -> None:
    config = read_config(yaml.safe_dump(LEAST))

    assert config.pool.policy is PolicyName.POOL
    assert config.pool.limits().logins_per_host == 5
    assert config.destinations.entries()[0].ports == (22,)


def test_all_problems_are_named_at_once_with_their_places() -> None:
    problems = _problems(listen={"port": "80"}, pool={"policy": "mine", "waitS": -1}, surprise=1)

    assert [line.partition(":")[0] for line in problems] == ["listen.port", "pool.policy", "pool.waitS", "surprise"]


@pytest.mark.parametrize(
    ("section", "value", "why"),
    [
        ("database", {"url": "mysql://host/db"}, "must begin with sqlite:///"),
        ("database", {"url": "postgresql://me:canary@host/db"}, "put the whole URL into a file"),
        ("database", {"url": "postgresql://me:canary@host:port/db"}, "no URL"),
        ("database", {}, "either url or urlFile"),
        ("database", {"url": "sqlite://"}, "names no file"),
        ("tokens", {**LEAST["tokens"], "algorithms": ["HS256"]}, "algorithms has HS256"),
        ("tokens", {**LEAST["tokens"], "algorithms": ["none"]}, "algorithms has none"),
        ("tokens", {**LEAST["tokens"], "algorithms": []}, "at least 1"),
        ("tokens", {**LEAST["tokens"], "jwksUrl": "http://issuer.example.com/jwks"}, "https://"),
        ("tokens", {**LEAST["tokens"], "jwksUrl": "file:///etc/passwd"}, "https://"),
        ("tokens", {**LEAST["tokens"], "jwksFile": "/etc/jwks"}, "either jwksUrl or jwksFile"),
        ("destinations", {"allowed": [{"host": "10.0.0.0/33", "ports": [22]}]}, "10.0.0.0/33"),
        ("destinations", {"allowed": [{"host": "a.example.com", "ports": []}]}, "at least 1"),
        ("destinations", {"denied": ["10.0.0.1/8"]}, "host bits"),
        ("listen", {"port": 80, "host": "example.com"}, "IP address"),
        ("pool", {"connections": 0}, "greater than or equal to 1"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(section: str, value: object, why: str) -> None:
    (problem,) = _problems(**{section: value})

    assert problem.startswith(section)
    assert why in problem
    assert "canary" not in problem


@pytest.mark.parametrize("text", ["", "[]", "1", "a: [", "? {}", "\0", "a: " + "[" * 1_000])
def test_what_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_config(text)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("2026-99-99", "not what its tag"),
        (f"1{':1' * 198}.0", "not what its tag"),
        ("!!bool canary", "not what its tag"),
        ("!!timestamp canary", "not what its tag"),
        (f"1{':59' * 400}", "more than 400 characters"),
        (f"1{':59' * 400}.0", "more than 400 characters"),
        ("{<<: {b: canary}}", "merge keys"),
    ],
)
def test_a_value_that_cannot_be_read_is_named_with_its_line_and_not_shown(value: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"is not YAML in line 2: .*{why}") as refused:
        read_config(f"b: 1\na: {value}\n")
    assert "canary" not in str(refused.value)


def test_a_url_with_a_password_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "url"
    path.write_text("postgresql://me:secret@host/db\n")
    config = read_config(yaml.safe_dump({**LEAST, "database": {"urlFile": str(path)}}))

    assert config.database.read().password == "secret"


@pytest.mark.parametrize("content", [None, "mysql://me:canary@host/db", "canary"])
def test_a_url_file_that_has_none_is_named_and_not_shown(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "url"
    if content is not None:
        path.write_text(content)
    config = read_config(yaml.safe_dump({**LEAST, "database": {"urlFile": str(path)}}))
    with pytest.raises(ConfigError, match=r"database\.urlFile") as refused:
        config.database.read()

    assert "canary" not in str(refused.value)
