import shutil
import subprocess
import sys
from pathlib import Path

from own_ssh2 import own_ssh2
from ssh2 import session


def test_these_tests_and_their_workers_have_the_ssh2_python_of_the_worker_s_image() -> None:
    ask = "from ssh2 import session; print(session.__file__)"
    child = subprocess.run([sys.executable, "-P", "-c", ask], check=True, capture_output=True, text=True).stdout
    for path in (session.__file__, child):
        assert Path(path).is_relative_to(own_ssh2())


def test_libssh2_is_found_by_its_name_whatever_its_folder_is_called(tmp_path: Path) -> None:
    shutil.copytree(own_ssh2(), tmp_path / "libssh2")
    load = "from sshload_worker.clients.ssh2.direct_calls import LIBSSH2; print(LIBSSH2._name)"
    found = subprocess.check_output(
        [sys.executable, "-c", load], env={"PYTHONPATH": str(tmp_path / "libssh2")}, text=True
    )
    assert Path(found.strip()) == tmp_path / "libssh2/ssh2/libssh2.so.1"
