from typing import Any

import pytest
from plans import EXTERNAL
from sshload_operator.api.load_test import parse
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.local.files import ssh2_build_notes
from sshload_operator.local.sshd import LocalRunError

OWN, INDEX = "1.2.0.post1+sshload0123456789ab", "1.2.0.post1"
GCM = ["aes256-gcm@openssh.com", "aes128-gcm@openssh.com"]
TO_EXTERNAL = {"target": {"external": EXTERNAL}}
BY_JUMP_HOST = {"via": [EXTERNAL]}


def spec(**changes: Any) -> LoadTestSpec:
    simple = {
        "target": {"managed": {}},
        "scenario": {"steps": [{"exec": {"command": "true"}}]},
        "load": {"arrivals": {"stages": [{"rate": 1, "duration": "1s"}]}},
    }
    return parse({**simple, **changes})


@pytest.mark.parametrize("changes", [{}, TO_EXTERNAL, BY_JUMP_HOST], ids=["managed", "external", "jump host"])
def test_of_our_build_there_is_nothing_to_say(changes: dict[str, Any]) -> None:
    assert ssh2_build_notes(spec(**changes), OWN) == ()


def test_nothing_is_said_of_a_library_that_is_not_used() -> None:
    assert ssh2_build_notes(spec(**TO_EXTERNAL, client={"library": "paramiko"}), INDEX) == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="a managed target"),
        pytest.param({**TO_EXTERNAL, "client": {"ciphers": GCM}}, id="an external target by AES-GCM"),
        pytest.param({**BY_JUMP_HOST, "client": {"ciphers": GCM[:1]}}, id="a jump host by AES-GCM"),
    ],
)
def test_the_package_index_s_build_is_told_in_one_line_with_what_to_do(changes: dict[str, Any]) -> None:
    (note,) = ssh2_build_notes(spec(**changes), INDEX)
    assert note.startswith("ssh2-python 1.2.0.post1 is the package index's, slower and without our security fixes: ")
    assert note.endswith("run `make venv` again (with pipx: docs/how-to/without-a-cluster.md)")


@pytest.mark.parametrize("ciphers", [[], ["chacha20-poly1305@openssh.com"], [*GCM, "aes128-ctr"]])
@pytest.mark.parametrize("changes", [TO_EXTERNAL, BY_JUMP_HOST], ids=["target", "jump host"])
def test_the_package_index_s_build_meets_no_external_server_by_a_cipher_by_which_it_can_be_overwritten(
    changes: dict[str, Any], ciphers: list[str]
) -> None:
    client = {"client": {"ciphers": ciphers}} if ciphers else {}
    with pytest.raises(LocalRunError, match=r"^spec\.client\.ciphers: .* name aes128-gcm@openssh\.com or aes256-gcm"):
        ssh2_build_notes(spec(**changes, **client), INDEX)


HELD = {"load": {"hold": {"sessions": 10, "rampUp": "1s", "duration": "1s", "keepAlive": "0s", "probeRate": 1}}}


def test_the_package_index_s_build_holds_no_sessions_because_it_does_not_answer_a_server_meanwhile() -> None:
    with pytest.raises(LocalRunError, match=r"^spec\.load\.hold: .* while a session is idle"):
        ssh2_build_notes(spec(**HELD), INDEX)
    assert ssh2_build_notes(spec(**HELD), OWN) == ()
