"""Whose turn it is: exact where it can be, and else as often as declared, however many workers share the turns."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice
from math import sqrt
from pathlib import Path
from typing import Any, cast

import pytest
from circles import draws
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.client import Auth, Client, Library
from sshload_contract.population import new_population_secret, read_population, user_name
from sshload_contract.users import DerivedUsers, NumberedUsers, Pick, UsersFile, UsersInTurn, UsersSource
from sshload_worker.login.login import NOBODYS, Login
from sshload_worker.login.population import LoginPopulation, prepare_population
from sshload_worker.login.private_key import ed25519_key, read_private_key
from sshload_worker.outcomes import GeneratorFaultError, StepFailure
from sshload_worker.pacing.share import Share

ROLE = "the target"
NOBODY = replace(NOWHERE, user="", auth=Auth.PASSWORD, private_key_path="", password_path="", known_hosts_path="")
BASE = Login(None, "nowhere", 22, "", NOBODYS, cast("Any", None), cast("Any", None), (), None)
_CHI_2_Z = 4.753
"""The quantile of the normal distribution for an error of 1e-6."""


def client(library: Library = Library.SSH2_PYTHON, delay_s: float = 0.0) -> Client:
    return replace(run_config(NOWHERE, arrivals(1, 1)).client, library=library, network_delay_s=delay_s)


def prepared(
    source: UsersSource, pick: Pick = Pick.ROUND_ROBIN, *, seed: int = 1, exponent: float = 1.0, **at: Any
) -> LoginPopulation:
    fields = {name: value for name, value in at.items() if name not in ("client", "is_direct")}
    endpoint = replace(NOBODY, **fields)
    asked = UsersInTurn(source, pick, seed, exponent)
    return prepare_population(
        endpoint, asked, at.get("client", client()), ROLE, (), is_direct=at.get("is_direct", True)
    )


@pytest.fixture
def password(tmp_path: Path) -> str:
    (tmp_path / "password").write_text("of all\n")
    return str(tmp_path / "password")


def numbered(size: int) -> NumberedUsers:
    return NumberedUsers("user{n}", 1, size, 1)


def from_file(folder: Path, text: str) -> UsersFile:
    (folder / "users.csv").write_text(text)
    return UsersFile(str(folder / "users.csv"))


def places(population: LoginPopulation, turns: Sequence[int]) -> list[int]:
    return [population.place_of(turn) for turn in turns]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 10])
def test_nobody_has_another_turn_before_all_others_had_theirs(password: str, size: int) -> None:
    population = prepared(numbered(size), password_path=password)
    for number in range(5):
        assert sorted(places(population, range(number * size, (number + 1) * size))) == list(range(size))


def test_who_logs_in_once_does_so_in_the_order_of_the_file(password: str) -> None:
    population = prepared(numbered(5), Pick.ONCE_PER_USER, password_path=password)
    assert (places(population, range(5)), population.most_turns) == ([0, 1, 2, 3, 4], 5)
    assert prepared(numbered(5), password_path=password).most_turns is None


def is_as_declared(found: Counter[int], weights: Sequence[float]) -> bool:
    """Return whether counts are those of independent draws by weights, wrongly not with a chance of 1e-6 (chi squared).

    By the approximation of Wilson and Hilferty, for expected counts of 5 and more.
    """
    whole, drawn = sum(weights), found.total()
    expected = [drawn * weight / whole for weight in weights]
    assert min(expected) > 5
    distance = sum((found[place] - wanted) ** 2 / wanted for place, wanted in enumerate(expected))
    free = len(weights) - 1
    most = free * (1 - 2 / (9 * free) + _CHI_2_Z * sqrt(2 / (9 * free))) ** 3
    return distance < most


@pytest.mark.parametrize("seed", range(draws(3, 100)))
@pytest.mark.parametrize(
    ("pick", "weights"),
    [
        (Pick.RANDOM, [1.0] * 10),
        (Pick.WEIGHTED, [1.0, 2.5, 10.0, 0.5, 6.0]),
        (Pick.ZIPF, [1 / rank**1.5 for rank in range(1, 13)]),
    ],
)
def test_who_is_drawn_is_drawn_as_often_as_declared_by_each_worker(
    tmp_path: Path, seed: int, pick: Pick, weights: list[float]
) -> None:
    lines = ["user,password,weight", *(f"user{place},x,{weight}" for place, weight in enumerate(weights))]
    population = prepared(from_file(tmp_path, "\n".join(lines)), pick, seed=seed, exponent=1.5)
    for index in range(2):
        own = list(islice(Share(index, 2).take(count()), 4_000))
        assert is_as_declared(Counter(places(population, own)), weights)


def test_the_measure_of_draws_knows_others() -> None:
    assert is_as_declared(Counter({0: 1_000, 1: 2_000}), [1, 2])
    assert not is_as_declared(Counter({0: 1_200, 1: 1_800}), [1, 2])
    assert not is_as_declared(Counter({0: 1_000, 1: 1_000, 2: 1_000}), [1, 1, 2])


@pytest.mark.parametrize("pick", [Pick.RANDOM, Pick.WEIGHTED, Pick.ZIPF])
def test_a_seed_draws_the_same_in_each_run_and_another_one_does_not(tmp_path: Path, pick: Pick) -> None:
    file = from_file(tmp_path, "user,password\n" + "".join(f"user{place},x\n" for place in range(50)))
    first, again, other = (places(prepared(file, pick, seed=seed), range(100)) for seed in (7, 7, 8))
    assert first == again != other


def test_users_with_numbers_share_the_credentials_of_the_target(password: str) -> None:
    population = prepared(NumberedUsers("u{n}@site", 9, 11, 3), password_path=password)
    logins = [population.login_of(BASE, turn) for turn in range(3)]
    assert [login.user for login in logins] == ["u009@site", "u010@site", "u011@site"]
    assert {login.credentials.password for login in logins} == {"of all"}
    assert [login.place for login in logins] == [0, 1, 2]
    with pytest.raises(GeneratorFaultError, match="the credentials of the target are needed"):
        prepared(numbered(2))


def test_users_of_a_file_have_their_own_credentials_or_else_those_of_the_target(tmp_path: Path, password: str) -> None:
    file = from_file(tmp_path, "user,password,sourceAddress\nann,own,\nbob,,127.0.0.2\n")
    ann, bob = (prepared(file, password_path=password).login_of(BASE, turn) for turn in range(2))
    assert (ann.user, ann.credentials.password, ann.source_address) == ("ann", "own", "")
    assert (bob.user, bob.credentials.password, bob.source_address) == ("bob", "of all", "127.0.0.2")
    with pytest.raises(GeneratorFaultError, match="users of the target, line 3: the field password is needed"):
        prepared(file)


def test_a_key_in_a_file_is_read_when_its_user_logs_in(tmp_path: Path) -> None:
    key = ed25519_key(bytes(32))
    text = f'user,key\nann,"{key.openssh.decode()}"\nbob,"{key.openssh.decode().replace("b3Bl", "AAAA")}"\n'
    population = prepared(from_file(tmp_path, text), auth=Auth.PUBLICKEY)
    assert population.login_of(BASE, 0).credentials.public_key == key.public_line
    with pytest.raises(StepFailure, match="users of the target, line 10: the key is damaged") as failure:
        population.login_of(BASE, 1)
    assert "AAAA" not in str(failure.value)
    with pytest.raises(GeneratorFaultError, match="line 10: the key is damaged"):
        population.prepare(range(2))


def test_a_certificate_is_needed_beside_a_key(tmp_path: Path) -> None:
    key = ed25519_key(bytes(32)).openssh.decode()
    with pytest.raises(GeneratorFaultError, match="line 2: the field certificate is needed"):
        prepared(from_file(tmp_path, f'user,key\nann,"{key}"\n'), auth=Auth.CERTIFICATE)


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ({"client": client(Library.MINA_SSHD)}, "mina-sshd has no such setting"),
        ({"client": client(delay_s=0.1)}, "the relay of client.networkDelay makes the connection"),
        ({"is_direct": False}, "the connection is to a jump host"),
    ],
)
def test_a_source_address_that_cannot_be_had_is_refused(tmp_path: Path, at: dict[str, Any], why: str) -> None:
    file = from_file(tmp_path, "user,password,sourceAddress\nann,x,\nbob,x,127.0.0.2\n")
    with pytest.raises(GeneratorFaultError, match=f"line 3: the field sourceAddress cannot be used: {why}"):
        prepared(file, **at)


def test_a_name_that_a_shell_reads_otherwise_is_refused_where_commands_have_names(tmp_path: Path) -> None:
    population = prepared(from_file(tmp_path, "user,password\nann,x\nDOM\\bob,x\n"))
    assert population.login_of(BASE, 1).user == "DOM\\bob"
    with pytest.raises(GeneratorFaultError, match="line 3: the name has a backslash"):
        population.check_names()


def test_the_users_of_a_managed_target_are_derived_from_its_secret(tmp_path: Path) -> None:
    text = new_population_secret()
    (tmp_path / "population").write_text(text)
    source, known = DerivedUsers(str(tmp_path / "population"), 3), read_population(text, 3)
    by_key, by_password = (prepared(source, auth=auth) for auth in (Auth.PUBLICKEY, Auth.PASSWORD))
    for turn in range(3):
        name = user_name(turn + 1)
        login = by_key.login_of(BASE, turn)
        read = read_private_key(login.credentials.private_key, "", "it")
        private = load_ssh_private_key(login.credentials.private_key, None)
        assert isinstance(private, Ed25519PrivateKey)
        assert (login.user, private.private_bytes_raw()) == (name, known.key_seed(name))
        assert login.credentials.public_key == read.public_line
        assert by_password.login_of(BASE, turn).credentials.password == known.password
    (tmp_path / "population").write_text("short")
    with pytest.raises(GeneratorFaultError, match="is not the base64 of 32 bytes"):
        prepared(source, auth=Auth.PUBLICKEY)
