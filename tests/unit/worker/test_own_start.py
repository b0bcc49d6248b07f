"""What a process of a run imports at its start, looked at in a process of its own."""

import json
import subprocess
import sys

_START = """
import json, sys
from importlib import metadata
asked, read = [], metadata.entry_points
metadata.entry_points = lambda **group: asked.append(group) or read(**group)
from sshload_worker.__main__ import import_locust
import_locust()
assert metadata.entry_points(group="console_scripts") and len(asked) == 2, asked
from gevent import monkey
assert monkey.is_module_patched("socket")
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
