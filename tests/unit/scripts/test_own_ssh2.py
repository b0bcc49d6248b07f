import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
COMPILERS = {"cc", "cmake", "make", "patch"}
NEEDED = ("bash", "cat", "cut", "dirname", "env", "flock", "mkdir", "sed", "sh", "sha256sum")


def own_ssh2(cache: Path, path: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SSHLOAD_CACHE": str(cache), "PATH": path}
    command = [ROOT / "scripts/own-ssh2", sys.executable]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def path_of(folder: Path, *names: str) -> str:
    """Return a search path on which these programs are and no others."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    return str(folder)


def test_what_compiling_needs_and_is_not_there_is_named_by_its_debian_packages(tmp_path: Path) -> None:
    done = own_ssh2(tmp_path, path_of(tmp_path / "bin", *NEEDED, *COMPILERS - {"cmake", "patch"}))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "sshload: ssh2-python cannot be compiled without the Debian packages cmake patch\n"


def test_what_is_in_the_cache_is_not_compiled_again(tmp_path: Path) -> None:
    version = subprocess.check_output([ROOT / "ssh-library/build-wheel", "--version"], text=True).strip()
    (kind,) = {path.name.split(".", 1)[1] for path in (ROOT / ".venv").glob("lib/*/site-packages/ssh2/session.*.so")}
    cached = tmp_path / "ssh2" / f"{version}.{kind.removesuffix('.so')}"
    cached.mkdir(parents=True)
    done = own_ssh2(tmp_path, path_of(tmp_path / "bin", *NEEDED))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{cached}\n", "")
