"""What a process of a run imports at its start, looked at in a process of its own."""

import json
import subprocess
import sys
from typing import Any

import pytest

_RUNNER = """
import json, sys
from importlib import metadata
asked, read = [], metadata.entry_points
metadata.entry_points = lambda **group: asked.append(group) or read(**group)
from sshload_worker.locust_runner.locust_import import import_runner
import_runner()
from gevent import monkey
from sshload_worker.coordination import http_server, master, roles, worker
unused = {"asyncssh", "bcrypt", "cryptography", "flask", "geventhttpclient", "paramiko", "requests", "urllib3",
          "certifi", "h11"}
from locust.env import Environment
environment = Environment()
environment.create_master_runner("127.0.0.1", 0)
import locust
from locust._version import version
seen = sorted(unused & set(sys.modules))
print(json.dumps([asked, monkey.is_module_patched("socket"), seen, locust.__version__ == version]))
"""

_WHOLE = """
import json, sys
from sshload_worker.locust_runner.locust_import import import_whole
import_whole()
from gevent import monkey
seen = sorted({"flask", "locust.web"} & set(sys.modules))
from locust import FastHttpUser, HttpUser, User, between, events, runners, task
from locust.env import Environment
from sshload_worker.locustfile import SSHUser
environment = Environment(user_classes=[])
environment.create_local_runner()
made = type(environment.create_web_ui("127.0.0.1", 0, delayed_start=True))
from locust.web import WebUI
own = issubclass(HttpUser, User) and issubclass(FastHttpUser, User) and issubclass(SSHUser, User)
print(json.dumps([monkey.is_module_patched("ssl"), seen, own, made is WebUI]))
"""


def printed(program: str) -> Any:
    """Return what a program prints as JSON."""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_run_of_our_own_steps_begins_with_locusts_runner_alone() -> None:
    plug_ins_asked, patched, unused, version_known = printed(_RUNNER)
    assert patched
    assert version_known
    assert not plug_ins_asked
    assert not unused


@pytest.mark.slow
def test_a_run_of_a_locustfile_begins_without_locusts_web_ui_and_the_locustfile_still_gets_all_of_locust() -> None:
    assert printed(_WHOLE) == [True, [], True, True]
