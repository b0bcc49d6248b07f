import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RELEASE = "libssh2-1.11.1"
TAKEN, NEW = "CVE-2026-55200", "GHSA-aaaa-bbbb-cccc"


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    subprocess.run(["git", "-C", folder, *identity, *words], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a repository with the release and, before it, a fix."""
    git(tmp_path, "init", "-q")
    commit(tmp_path, f"fix {NEW} before the release")
    git(tmp_path, "tag", RELEASE)
    return tmp_path


def commit(folder: Path, *message: str, file: str = "README") -> None:
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(message), encoding="utf-8")
    git(folder, "add", file)
    git(folder, "commit", "-q", *(word for part in message for word in ("-m", part)))


def fixes(*arguments: str | Path) -> tuple[int, list[list[str]]]:
    """Return the exit code, and of each line its mark and the commit's subject."""
    command = [ROOT / "scripts/libssh2-fixes", *arguments]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    return done.returncode, [[line[:12].strip(), line[12:].split(maxsplit=2)[-1]] for line in done.stdout.splitlines()]


def test_a_fix_that_the_patches_name_is_taken(clone: Path) -> None:
    commit(clone, "transport: check the length", f"Fixes {TAKEN}")
    assert fixes(clone) == (0, [["taken", "transport: check the length"]])


@pytest.mark.parametrize("word", [NEW, "CVE-2026-5520", "Security"])
def test_a_fix_that_nothing_names_is_missing(clone: Path, word: str) -> None:
    commit(clone, "transport: check the length", f"Fixes {TAKEN}")
    commit(clone, "packet: look at it too", f"Fixes {word}")
    assert fixes(clone) == (1, [["MISSING", "packet: look at it too"], ["taken", "transport: check the length"]])


@pytest.mark.parametrize("subject", ["packet: fix heap overflow", "Fix possible dubble-free", "channel: free it once"])
def test_a_fix_without_a_label_is_asked_for_where_it_changes_what_reads_the_server(clone: Path, subject: str) -> None:
    commit(clone, subject, file="src/packet.c")
    assert fixes(clone) == (1, [["MISSING", subject]])


def test_other_changes_are_not_asked_for(clone: Path) -> None:
    commit(clone, "packet: new spelling", file="src/packet.c")
    commit(clone, "knownhost: fix heap overflow", file="src/knownhost.c")
    assert fixes(clone) == (0, [])


def test_a_folder_without_the_release_is_an_error_of_its_own(tmp_path: Path) -> None:
    assert fixes(tmp_path) == (2, [])
