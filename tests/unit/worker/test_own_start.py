"""What a process of a run imports at its start, looked at in a process of its own."""

import json
import subprocess
import sys

_START = """
from gevent import monkey
monkey.patch_all()
import json, sys
from sshload_worker.__main__ import import_locust
import_locust()
from sshload_worker.coordination import master, worker
seen = sorted({"flask", "locust.web", "paramiko", "asyncssh"} & set(sys.modules))
from locust.env import Environment
environment = Environment(user_classes=[])
environment.create_local_runner()
made = type(environment.create_web_ui("127.0.0.1", 0, delayed_start=True))
from locust.web import WebUI
print(json.dumps([seen, made is WebUI]))
"""


def test_a_run_begins_without_locusts_web_ui_and_a_locustfile_still_gets_it() -> None:
    done = subprocess.run([sys.executable, "-c", _START], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == [[], True]
