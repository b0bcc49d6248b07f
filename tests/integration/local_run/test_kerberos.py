"""Runs by Kerberos: at a server that exists, by a keytab, and with a KDC that the run makes; no ticket is seen."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from canary import Canary, Search, searched
from kerberos_target import HOST, KerberosTarget, kerberos_target
from local_cli import sshload, write_test
from sshload_contract.population import user_name

pytestmark = [pytest.mark.root, pytest.mark.slow]
_KEY_BYTES = 32


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosTarget]:
    """Run a server with a KDC, which is not the run's."""
    with kerberos_target(tmp_path_factory.mktemp("kerberos")) as target:
        yield target


@pytest.mark.parametrize("library", ["openssh", pytest.param("asyncssh", marks=pytest.mark.full)])
def test_keytab_and_tickets_are_seen_nowhere_when_all_goes_well(
    server: KerberosTarget, tmp_path: Path, temporary: Path, library: str
) -> None:
    """The key in a keytab is the user's password, and all tickets are encrypted with what it encrypts."""
    keytab = server.keytab("user00002")
    canary = Canary({"key of the keytab": keytab.read_bytes()[-_KEY_BYTES - 4 : -4], "keytab": keytab.read_bytes()})
    kdc = server.kdc()
    test = write_test(
        tmp_path,
        target={
            "external": {
                "host": HOST,
                "port": server.target.folder.config.sshd_port,
                "user": "user00002",
                "credentialsSecretRef": {"name": "login"},
                "knownHostsSecretRef": {"name": "hosts"},
            }
        },
        client={
            "library": library,
            "auth": "gssapi",
            "kerberos": {
                "realms": [{"name": "SSHLOAD.TEST", "kdcs": [{"host": kdc.host, "port": kdc.port}]}],
                "freshTickets": True,
            },
        },
        scenario={"steps": [{"exec": {"command": "true"}}]},
        load={"arrivals": {"rate": 3, "duration": "2s"}},
    )
    files = ["--keytab", keytab, "--known-hosts", server.target.folder.path / "known_hosts"]
    status = searched(Search(canary, temporary), test, tmp_path / "logs", *files)
    assert (status["results"]["iterations"], status["results"]["failures"]) == (6, 0)


def test_each_user_of_a_run_is_in_the_log_of_its_sshd(tmp_path: Path) -> None:
    test = write_test(
        tmp_path,
        target={"managed": {"system": {"users": 7, "kerberos": {}}, "sshd": {"logLevel": "VERBOSE"}}},
        client={"library": "asyncssh", "auth": "gssapi"},
        scenario={"steps": [{"exec": {"command": 'test "$(id -un)" = {user}'}}]},
        load={"arrivals": {"rate": 7, "duration": "2s"}},
    )
    logs = tmp_path / "logs"
    ended = sshload("run", test, "--output", "json", "--logs", logs)
    results = ended.status["results"]
    assert (results["iterations"], results["failures"]) == (14, 0), ended.err
    accepted = Counter(re.findall(r"Accepted gssapi-with-mic for (\S+) from", (logs / "target.log").read_text()))
    before_the_load = Counter({user_name(1): 1})
    assert accepted - before_the_load == Counter({user_name(number): 2 for number in range(1, 8)})
