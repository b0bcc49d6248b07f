"""The proof that a pod has a user namespace of its own, by the maps that the kernel shows of it."""

from pathlib import Path

import pytest
from sshload_target.errors import NoUserNamespaceError
from sshload_target.user_namespace import main, prove

OF_A_POD = "         0    1572864      65536\n"


def process(folder: Path, users: str, groups: str) -> Path:
    """Return a folder that looks like a process's in /proc."""
    (folder / "uid_map").write_text(users)
    (folder / "gid_map").write_text(groups)
    return folder


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(OF_A_POD, id="65,536 ids"),
        pytest.param("0 65536 65536\n", id="those right after the node's"),
        pytest.param("0 262144 131072\n", id="as many as userNamespaces.idsPerPod of the kubelet says"),
    ],
)
def test_the_map_of_a_pod_proves_it(tmp_path: Path, shown: str) -> None:
    prove(process(tmp_path, shown, shown))


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("         0          0 4294967295\n", id="the node's own"),
        pytest.param("0 0 65536\n", id="root of the node, and few others"),
        pytest.param("0 1000 1\n1 100000 65536\n", id="a rootless engine's, in which the whole node runs"),
        pytest.param("0 1000000 1000000000\n", id="LXD's, in which the whole node runs"),
        pytest.param("0 100000 65536\n", id="LXC's, in which the whole node runs"),
        pytest.param("1 65536 65536\n", id="without root"),
        pytest.param("0 65536 1\n", id="root alone"),
        pytest.param("0 65536 0\n", id="nobody"),
        pytest.param("", id="none yet"),
    ],
)
@pytest.mark.parametrize("name", ["uid_map", "gid_map"])
def test_another_map_of_users_or_of_groups_is_refused_with_what_it_is(tmp_path: Path, name: str, shown: str) -> None:
    maps = {"uid_map": OF_A_POD, "gid_map": OF_A_POD, name: shown}
    with pytest.raises(NoUserNamespaceError, match=f"its {name} is {' '.join(shown.split()[:3])}"):
        prove(process(tmp_path, maps["uid_map"], maps["gid_map"]))


def test_this_machine_is_told_from_a_pod_by_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["user_namespace"])
    assert main() == 69
    assert capfd.readouterr().err.startswith("its uid_map is 0 0 ")
