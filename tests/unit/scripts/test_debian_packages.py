"""What tests need is asked for by what it is, so that other distributions than Debian can have it their own way."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts/debian-packages"
SHELL = ("bash", "cat", "id")


def ask(folder: Path, programs: tuple[str, ...], *packages: str) -> subprocess.CompletedProcess[str]:
    """Ask for packages where these programs are, and neither dpkg nor apt-get."""
    folder = folder / "bin"
    folder.mkdir()
    for name in SHELL:
        (folder / name).symlink_to(shutil.which(name) or "")
    for name in programs:
        (folder / name).symlink_to("/bin/true")
    command = ["bash", "-c", 'PATH=$1; shift; . "$0" "$@"', SCRIPT, str(folder), *packages]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_where_all_programs_are_here_no_dpkg_is_needed(tmp_path: Path) -> None:
    done = ask(tmp_path, ("haproxy", "nginx", "javac", "jar", "java"), "haproxy", "nginx", "default-jdk-headless")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_elsewhere_only_what_is_missing_is_named(tmp_path: Path) -> None:
    done = ask(tmp_path, ("haproxy", "java"), "haproxy", "valgrind", "default-jdk-headless", "unheard-of")
    assert done.returncode == 1
    assert done.stderr == (
        "sshload: this is neither Debian nor Ubuntu: "
        "install what these packages of Debian have: valgrind default-jdk-headless unheard-of\n"
    )


@pytest.mark.parametrize("package", ["haproxy", "openssh-server", "shellcheck", "python3-dev", "zlib1g-dev"])
def test_what_is_here_on_debian_is_not_installed_again(package: str) -> None:
    done = subprocess.run([SCRIPT, package], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
