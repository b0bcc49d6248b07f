import os
import shutil
import subprocess
import sys
from pathlib import Path

from sshload_operator.local.files import OWN_SSH2

ROOT = Path(__file__).parents[3]
COMPILERS = {"cc", "cmake", "make", "patch"}
NEEDED = ("bash", "cat", "cut", "dirname", "env", "flock", "mkdir", "sed", "sh", "sha256sum")


def own_ssh2(cache: Path, path: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SSHLOAD_CACHE": str(cache), "PATH": path}
    command: list[str | Path] = [ROOT / "scripts/own-ssh2", sys.executable]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def build_wheel(option: str, root: Path = ROOT) -> str:
    return subprocess.check_output([root / "ssh-library/build-wheel", option], text=True).strip()


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
    version, digest = (build_wheel(option) for option in ("--version", "--digest"))
    (kind,) = {path.name.split(".", 1)[1] for path in (ROOT / ".venv").glob("lib/*/site-packages/ssh2/session.*.so")}
    cached = tmp_path / "ssh2" / f"{version}-{digest[:12]}.{kind.removesuffix('.so')}"
    cached.mkdir(parents=True)
    done = own_ssh2(tmp_path, path_of(tmp_path / "bin", *NEEDED))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{cached}\n", "")


def checkout_with(folder: Path, *lines: str) -> Path:
    """Return what build-wheel reads of a checkout, with other versions of the wheel."""
    shutil.copytree(ROOT / "ssh-library", folder / "ssh-library")
    (folder / "requirements").mkdir()
    for path in (ROOT / "requirements").glob("ssh2-*.txt"):
        shutil.copy(path, folder / "requirements")
    (folder / "ssh-library/versions").write_text("".join(f"{line}\n" for line in lines))
    return folder


def versions() -> list[tuple[str, str]]:
    lines = (ROOT / "ssh-library/versions").read_text(encoding="ascii").splitlines()
    return [(words[0], words[1]) for line in lines if not line.startswith("#") and (words := line.split())]


def test_the_version_of_the_wheel_names_one_series_of_patches_and_sources() -> None:
    """If this fails, ssh-library/ has changed: add a line with the next version and `build-wheel --digest`."""
    assert versions()[-1] == (build_wheel("--version"), build_wheel("--digest"))
    assert [int(version.rpartition(".")[2]) for version, _ in versions()] == [*range(1, len(versions()) + 1)]
    assert len({digest for _, digest in versions()}) == len(versions())


def test_whatever_changes_in_the_series_gives_another_digest(tmp_path: Path) -> None:
    version, digest = versions()[-1]
    checkout = checkout_with(tmp_path, f"{version} {digest}")
    assert build_wheel("--digest", checkout) == digest
    first, *_ = sorted((checkout / "ssh-library/patches").iterdir())
    first.rename(first.with_name("0000-first.patch"))
    assert build_wheel("--digest", checkout) != digest


def test_a_version_of_another_release_than_what_is_compiled_is_an_error(tmp_path: Path) -> None:
    checkout = checkout_with(tmp_path, "1.1.0+sshload.7 0")
    done = subprocess.run(
        [checkout / "ssh-library/build-wheel", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "ssh-library/versions ends with 1.1.0+sshload.7, and the release that is compiled is 1.2.0.post1" in done.stderr
    )


def test_a_run_asks_for_the_current_version() -> None:
    assert build_wheel("--version") == OWN_SSH2
