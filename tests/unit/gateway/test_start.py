import subprocess
import sys
from importlib.util import find_spec

import pytest
from sshload_gateway.api.protocol import API, limited
from sshload_gateway.service import _uvicorn
from starlette.applications import Starlette

_LIBRARIES = ("aiohttp", "alembic", "asyncpg", "mako", "sqlalchemy.dialects.postgresql")
_PROGRAM = f"import sys; import sshload_gateway.__main__; print([name for name in {_LIBRARIES} if name in sys.modules])"


@pytest.mark.slow
def test_a_gateway_imports_no_library_before_its_configuration_asks_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True)

    assert done.stdout == "[]\n"


def test_no_request_reaches_a_parser_of_websockets_although_one_is_installed() -> None:
    config = _uvicorn(Starlette(), 1.0, limited(API, keeps_served=True))
    config.load()
    assert find_spec("wsproto") is not None
    assert config.ws_protocol_class is None
