"""The file of libssh2 that this process has loaded, as the kernel tells of it."""

import mmap
from pathlib import Path

import pytest
from sshload_worker.clients.ssh2.direct_calls import loaded_libssh2

OWN = loaded_libssh2(Path("/proc/self/maps").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["libssh2.so.1", "libssh2-8c2d0f73.so.1.0.1", "libssh2.so"])
def test_libssh2_is_found_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a folder (deleted) of  mine é"
    folder.mkdir()
    assert loaded_with(folder / name) - OWN == {str(folder / name)}


@pytest.mark.parametrize("name", ["libssh2.py", "libssh2_tools.so", "mylibssh2.so.1"])
def test_what_is_called_nearly_so_is_no_libssh2(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "libssh2.so"
    folder.mkdir()
    assert loaded_with(folder / name) == OWN


def loaded_with(path: Path) -> set[str]:
    """Return what is found while a file is in memory as a library would be."""
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        return loaded_libssh2(Path("/proc/self/maps").read_text(encoding="utf-8"))
