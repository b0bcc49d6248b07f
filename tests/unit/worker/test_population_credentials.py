"""Each user of a population answers prompts, and shows tickets or certificates, by what is their own, or else all's."""

from base64 import b32encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.client import Answer, Auth, Prompt, Totp, TotpAlgorithm
from sshload_contract.population import new_population_secret, read_population
from sshload_contract.users import DerivedUsers, Pick, UsersFile, UsersInTurn, UsersSource
from sshload_worker.login import population
from sshload_worker.login.login import NOBODYS, Credentials, Login
from sshload_worker.login.population import LoginPopulation, prepare_population
from sshload_worker.login.private_key import ed25519_key
from sshload_worker.outcomes import GeneratorFaultError, StepFailure

NOBODY = replace(NOWHERE, user="", private_key_path="", password_path="", known_hosts_path="")
BASE = Login(None, "nowhere", 22, "", NOBODYS, cast("Any", None), cast("Any", None), (), None)
PRIVATE = ed25519_key(bytes(32))
KEY = PRIVATE.openssh.decode()
PROMPTS = (Prompt("assword", Answer.PASSWORD, ""), Prompt("code", Answer.TOTP, ""))
SETTINGS = Totp(TotpAlgorithm.SHA256, 8, 60.0)
CLIENT = run_config(NOWHERE, arrivals(1, 1)).client
PROMPTED = replace(CLIENT, prompts=PROMPTS, totp=SETTINGS)
OWN, OF_ALL = b"own secret of 20 byt", b"one for all of them."


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    def to_file(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return to_file


def prepared(source: UsersSource, client: Any = CLIENT, **of_endpoint: Any) -> LoginPopulation:
    asked = UsersInTurn(source, Pick.ROUND_ROBIN, 1, 1.0)
    endpoint = replace(NOBODY, **of_endpoint)
    return prepare_population(endpoint, asked, client, "the target", is_direct=True, is_shared=True)


def credentials(population: LoginPopulation, turn: int) -> Credentials:
    return population.login_of(BASE, turn).credentials


def test_users_answer_prompts_by_their_own_password_and_codes_or_else_those_of_the_target(
    write: Callable[[str, str], str],
) -> None:
    users = f"user,password,totp\nann,own,{b32encode(OWN).decode()}\nbob,,\n"
    logins = prepared(
        UsersFile(write("users.csv", users)),
        PROMPTED,
        auth=Auth.PASSWORD,
        password_path=write("password", "of all\n"),
        totp_path=write("totp", b32encode(OF_ALL).decode()),
    )
    for turn, (password, secret) in enumerate([("own", OWN), ("of all", OF_ALL)]):
        found = credentials(logins, turn)
        codes = found.second_factor
        assert codes is not None
        assert (found.password, found.prompts) == (password, PROMPTS)
        assert (codes.secret, codes.settings, codes.is_shared) == (secret, SETTINGS, True)


@pytest.mark.parametrize(
    ("users", "wanted"),
    [
        pytest.param(f'user,key,totp\nann,"{KEY}",{b32encode(OWN).decode()}\n', "password", id="password"),
        pytest.param(f'user,key,password\nann,"{KEY}",own\n', "totp", id="totp"),
    ],
)
def test_a_user_without_an_answer_for_a_prompt_is_told_by_line_and_field(
    write: Callable[[str, str], str], users: str, wanted: str
) -> None:
    logins = prepared(UsersFile(write("users.csv", users)), PROMPTED, auth=Auth.PUBLICKEY)
    with pytest.raises(StepFailure, match=f"line 2: the field {wanted} is needed to answer prompts"):
        credentials(logins, 0)


def test_each_user_of_a_managed_target_has_codes_of_their_own(write: Callable[[str, str], str]) -> None:
    text = new_population_secret()
    logins = prepared(DerivedUsers(write("population", text), 2), PROMPTED, auth=Auth.PUBLICKEY)
    known = read_population(text, 2)
    for turn, name in enumerate(known.names):
        found = credentials(logins, turn)
        assert found.second_factor is not None
        assert (found.password, found.second_factor.secret) == (known.password, known.totp_secret(name))


def test_a_key_of_a_user_for_whom_workers_sign_certificates_needs_none(write: Callable[[str, str], str]) -> None:
    file = UsersFile(write("users.csv", f'user,key\nann,"{KEY}"\n'))
    logins = prepared(file, auth=Auth.CERTIFICATE, user_ca_path="ca")
    found = credentials(logins, 0)
    assert (found.auth, found.certificate, found.public_key) == (Auth.CERTIFICATE, None, PRIVATE.public_line)


def test_users_get_tickets_before_the_load_by_their_own_password_or_else_by_the_keytab(
    write: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[tuple[str, str, float]] = []

    class Ticket:
        def __init__(self, user: str, password: str) -> None:
            self._by = user, password

        def get(self, limit_s: float) -> None:
            got.append((*self._by, limit_s))

    def with_tickets(_endpoint: object, _role: str, user: str, password: str, _kerberos: object) -> Credentials:
        return replace(NOBODYS, auth=Auth.GSSAPI, password=password, tickets=cast("Any", Ticket(user, password)))

    monkeypatch.setattr(population, "credentials_with_tickets", with_tickets)
    file = UsersFile(write("users.csv", "user,password\nann,own\nbob,\n"))
    prepared(file, auth=Auth.GSSAPI, keytab_path="keytab")
    limit_s = CLIENT.timeouts.auth_s
    assert sorted(got) == [("ann", "own", limit_s), ("bob", "", limit_s)]
    with pytest.raises(GeneratorFaultError, match="ticket cache is of one user: give a keytab"):
        prepared(UsersFile(write("own.csv", "user,password\nann,own\n")), auth=Auth.GSSAPI, ticket_cache_path="cache")


def test_a_login_keeps_all_that_is_not_the_users(write: Callable[[str, str], str]) -> None:
    logins = prepared(UsersFile(write("users.csv", "user,password\nann,own\n")), auth=Auth.PASSWORD)
    issuer, keys = cast("Any", object()), (PRIVATE,)
    base = replace(BASE, via=(BASE,), issuer=issuer, extra_keys=keys, revoked_share=0.5)
    found = logins.login_of(base, 0)
    assert replace(found, user="", credentials=NOBODYS, place=None) == base
