from typing import Any

import pytest
from plans import EXTERNAL
from sshload_operator.api.load_test import parse
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.local.files import OWN_SSH2, check_ssh2_build
from sshload_operator.local.sshd import LocalRunError

INDEX, EARLIER = "1.2.0.post1", "1.2.0.post1+sshload.0"
TO_EXTERNAL = {"target": {"external": EXTERNAL}}
BY_JUMP_HOST = {"via": [EXTERNAL]}
KINDS = pytest.mark.parametrize("changes", [{}, TO_EXTERNAL, BY_JUMP_HOST], ids=["managed", "external", "jump host"])


def spec(**changes: Any) -> LoadTestSpec:
    simple = {
        "target": {"managed": {}},
        "scenario": {"steps": [{"exec": {"command": "true"}}]},
        "load": {"arrivals": {"stages": [{"rate": 1, "duration": "1s"}]}},
    }
    return parse({**simple, **changes})


@KINDS
def test_our_build_is_what_a_run_needs(changes: dict[str, Any]) -> None:
    check_ssh2_build(spec(**changes), OWN_SSH2)


@KINDS
@pytest.mark.parametrize("version", [INDEX, EARLIER])
def test_without_our_build_a_run_by_ssh2_python_ends_in_a_sentence_with_what_to_do(
    changes: dict[str, Any], version: str
) -> None:
    with pytest.raises(LocalRunError) as refused:
        check_ssh2_build(spec(**changes), version)
    assert str(refused.value) == (
        f"spec.client.library: ssh2-python is {version} and has to be {OWN_SSH2}, the build with what the workers"
        " call and with fixes against hostile servers: install cmake, gcc, libc6-dev, make, patch, python3-dev and"
        " zlib1g-dev, and run `make venv` again (with pipx: docs/how-to/without-a-cluster.md), or"
        " name another library in spec.client.library"
    )


def test_other_libraries_need_no_build_of_ours() -> None:
    check_ssh2_build(spec(**TO_EXTERNAL, client={"library": "paramiko"}), INDEX)
