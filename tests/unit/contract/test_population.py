"""A population's credentials follow from its secret: the same for all who have it, and different for each user."""

import base64

import pytest
from sshload_contract.bounds import ContractError
from sshload_contract.population import Population, new_population_secret, read_population

SECRET = base64.b64encode(bytes(range(32))).decode()


def test_names_begin_with_one_and_are_in_the_order_of_their_numbers() -> None:
    assert list(read_population(SECRET, 3).names) == ["user00001", "user00002", "user00003"]
    assert list(Population(b"", 100_000).names)[-1] == "user100000"


def test_credentials_are_those_that_every_release_derives() -> None:
    """Computed with openssl(1): `printf key:user00001 | openssl mac -digest SHA256 -macopt hexkey:0001...1f HMAC`."""
    population = read_population(SECRET, 1)
    assert population.key_seed("user00001").hex() == (
        "94a71ea603ccb7c6f574309ef58f575e9a28c6385e723f9669a392746116bf60"
    )
    assert population.totp_secret("user00001").hex() == "9c7710bb4519b38047b18a12b5692f293b61c1b3"
    assert population.password == "566NL4YXI632BMV6NNDD6YCA"


def test_no_two_users_have_the_same_key_or_totp_secret() -> None:
    population = read_population(SECRET, 500)
    assert len({population.key_seed(name) for name in population.names}) == 500
    assert len({population.totp_secret(name) for name in population.names}) == 500


def test_each_population_has_a_secret_of_its_own() -> None:
    first, second = (read_population(new_population_secret(), 1) for _ in range(2))
    assert first.password != second.password
    assert first.key_seed("user00001") != second.key_seed("user00001")


def test_the_secret_shows_in_no_repr() -> None:
    population = read_population(SECRET, 2)
    assert repr(population) == "Population(users=2)"


@pytest.mark.parametrize("text", ["", "no base64", SECRET[:-8], SECRET + SECRET, "\u00e4"])
def test_a_file_that_is_not_the_base64_of_32_bytes_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(ContractError, match="population: is not the base64 of 32 bytes") as refused:
        read_population(text, 1)
    assert not text or text not in str(refused.value)
