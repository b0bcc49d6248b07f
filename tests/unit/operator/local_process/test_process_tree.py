"""Each case runs in a process of its own, because a ProcessTree takes charge of every child of its process."""

import subprocess
import sys
from pathlib import Path

SETUP = """
import os, signal, sys, time
from pathlib import Path
from sshload_operator.local.process_tree import ProcessTree

tree = ProcessTree(Path(sys.argv[1]), Path(sys.argv[1]))

def until(holds):
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)
    return True

def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
"""


def run(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SETUP + body, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)


def passes(folder: Path, body: str) -> None:
    done = run(folder, body)
    assert done.returncode == 0, done.stderr


def test_output_and_exit_code_are_kept_by_name(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
tree.start("one", ["sh", "-c", "echo out; echo err >&2; exit 3"])
tree.start("two", ["sh", "-c", "kill -9 $$"])
until(lambda: tree.exit_code("one") is not None and tree.exit_code("two") is not None)
assert tree.names() == ("one", "two")
assert (tree.exit_code("one"), tree.exit_code("two")) == (3, 137)
assert tree.log_path("one").read_text() == "out\\nerr\\n"
""",
    )


def test_the_end_is_an_orderly_one_where_that_is_possible(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
tree.start("polite", ["sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"])
until(lambda: tree.log_path("polite").read_text())
tree.end(grace_s=20)
assert tree.exit_code("polite") == 0
assert tree.log_path("polite").read_text() == "up\\nbye\\n"
""",
    )


def test_who_ignores_the_end_is_killed_after_the_grace(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
tree.start("stubborn", ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.01; done"])
until(lambda: tree.log_path("stubborn").read_text())
tree.end(grace_s=0.1)
assert tree.exit_code("stubborn") == 137
""",
    )


def test_what_a_process_left_behind_is_ended_too(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
tree.start("leaver", ["sh", "-c", "setsid sleep 1000 & echo $!"])
until(lambda: tree.exit_code("leaver") is not None)
left = int(tree.log_path("leaver").read_text())
assert alive(left)
tree.end(grace_s=1)
assert not alive(left)
""",
    )


def test_orphans_that_ended_do_not_stay_as_zombies(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
tree.start("leaver", ["sh", "-c", "sh -c 'read line' & echo $!; sleep 1000"])
until(lambda: tree.log_path("leaver").read_text())
tree.start("orphans", ["sh", "-c", "for i in 1 2 3; do (sleep 0.05 & echo $!); done"])
until(lambda: tree.exit_code("orphans") is not None)
orphans = [int(line) for line in tree.log_path("orphans").read_text().split()]
until(lambda: tree.exit_code("leaver") is None and not any(alive(pid) for pid in orphans))
tree.end(grace_s=5)
""",
    )


def test_children_end_when_their_parent_is_killed_outright(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
tree.start("child", ["sh", "-c", "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.01; done"])
until(lambda: tree.log_path("child").read_text())
os.kill(os.getpid(), signal.SIGKILL)
""",
    )
    assert done.returncode == -9
    log = tmp_path / "child.log"
    passes(tmp_path, f"until(lambda: Path({str(log)!r}).read_text() == 'up\\ntold\\n')")


def test_children_from_before_the_run_and_theirs_go_on(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
import subprocess
words = subprocess.Popen(["sh", "-c", "sleep 1000 >/dev/null & echo $!; read line; echo $line"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
job = int(words.stdout.readline())
daemon = subprocess.Popen(["sleep", "1000"], start_new_session=True)
tree = ProcessTree(Path(sys.argv[1]), Path(sys.argv[1]))
tree.start("leaver", ["sh", "-c", "setsid sleep 1000 & echo $!"])
until(lambda: tree.exit_code("leaver") is not None)
tree.end(grace_s=1)
assert not alive(int(tree.log_path("leaver").read_text()))
assert alive(job) and daemon.poll() is None
daemon.kill()
os.kill(job, signal.SIGKILL)
assert words.communicate("goes on\\n", timeout=60)[0] == "goes on\\n"
""",
    )


def test_what_a_child_from_before_starts_later_goes_on_though_its_parent_ends(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
import subprocess
earlier = subprocess.Popen(["sh", "-c", "read line; sleep 1000 >&2 & echo $!"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
tree = ProcessTree(Path(sys.argv[1]), Path(sys.argv[1]))
orphan = int(earlier.communicate("start\\n", timeout=60)[0])
tree.end(grace_s=1)
assert alive(orphan)
os.kill(orphan, signal.SIGKILL)
""",
    )
