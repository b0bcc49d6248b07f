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
