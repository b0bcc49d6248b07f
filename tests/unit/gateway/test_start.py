import subprocess
import sys

_LIBRARIES = ("aiohttp", "alembic", "asyncpg", "mako", "sqlalchemy.dialects.postgresql")
_PROGRAM = f"import sys; import sshload_gateway.__main__; print([name for name in {_LIBRARIES} if name in sys.modules])"


def test_a_gateway_imports_no_library_before_its_configuration_asks_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True)

    assert done.stdout == "[]\n"
