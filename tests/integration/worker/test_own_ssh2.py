import subprocess
import sys
from pathlib import Path

import pytest
import ssh2

LIBRARY = Path(ssh2.__file__).parent
BUILT = [pytest.param(path, id=path.name.partition(".")[0]) for path in sorted(LIBRARY.glob("*.so*"))]


def readelf(*arguments: str | Path) -> str:
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def test_the_command_line_s_workers_have_the_ssh2_python_of_the_worker_s_image() -> None:
    """So have these tests: conftest.py refuses another one."""
    ask = "import ssh2; print(ssh2.__path__[0])"
    child = subprocess.check_output([sys.executable, "-P", "-c", ask], text=True, env={})
    assert Path(child.strip()) == LIBRARY


@pytest.mark.parametrize("path", BUILT)
def test_what_the_linker_has_bound_cannot_be_written_to(path: Path) -> None:
    assert "GNU_RELRO" in readelf("--program-headers", path)
    assert "BIND_NOW" in readelf("--dynamic", path)


def test_libssh2_checks_its_stack_and_the_sizes_of_its_buffers() -> None:
    symbols = readelf("--dyn-syms", LIBRARY / "libssh2.so.1")
    assert "__stack_chk_fail@" in symbols
    assert "__memcpy_chk@" in symbols
