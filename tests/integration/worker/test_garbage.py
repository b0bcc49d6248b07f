"""However an iteration ends, its session is freed at once and in order, and not by the collector of garbage.

The collector frees the members of a cycle in any order, and libssh2 crashes where a session is freed before its
channels. So no failure may leave a cycle behind.
"""

import gc
from collections.abc import Iterator

import gevent
import pytest
from one_iteration import one_pass
from run_configs import client
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.client import Client
from sshload_contract.steps import (
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    RsyncDownload,
    RsyncStep,
    ScenarioStep,
    ScpReadStep,
    ScpWriteStep,
    SftpReadStep,
    SftpStatStep,
    SftpWriteStep,
    ShellStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import SessionReuse

HURRIED = client(step_s=0.3)
ENDINGS: dict[str, tuple[ScenarioStep, Client, Outcome]] = {
    "well": (SftpStatStep("", "/"), client(), Outcome.OK),
    "an exit code": (ExecStep("", "false", 0, ""), client(), Outcome.EXIT_CODE),
    "a slow command": (ExecStep("", "sleep 60", 0, ""), HURRIED, Outcome.STEP_TIMEOUT),
    "an endless file by sftp": (SftpReadStep("", "/dev/zero", None, ""), HURRIED, Outcome.STEP_TIMEOUT),
    "an endless write by sftp": (SftpWriteStep("", "/dev/null", 10**12, Verify.NONE), HURRIED, Outcome.STEP_TIMEOUT),
    "no such file by sftp": (SftpReadStep("", "/nowhere", None, ""), client(), Outcome.SFTP_NO_SUCH_FILE),
    "no such file by scp": (ScpReadStep("", "/nowhere", None, ""), client(), Outcome.SCP_FAILED),
    "lost content": (SftpWriteStep("", "/dev/null", 9, Verify.CONTENT), client(), Outcome.OUTPUT_MISMATCH),
    "content that scp refuses": (ScpWriteStep("", "/dev/null", 9, Verify.CONTENT), client(), Outcome.SCP_FAILED),
    "a shell that ends": (ShellStep("", "true", "never", "", "", 1), client(), Outcome.OUTPUT_MISMATCH),
    "a refused forward": (ForwardStep("", "127.0.0.1", 1, "", ""), client(), Outcome.CHANNEL_REFUSED),
    "no repository": (GitUploadPackStep("", "/nowhere"), client(), Outcome.EXIT_CODE),
    "rsync well": (RsyncStep("", RsyncDownload("/etc/passwd", 1, None), compress=False), client(), Outcome.OK),
    "rsync of nothing": (
        RsyncStep("", RsyncDownload("/nowhere", 1, None), compress=False),
        client(),
        Outcome.EXIT_CODE,
    ),
    "a slow rsync": (RsyncStep("", RsyncDownload("/usr/", 1, None), compress=True), HURRIED, Outcome.STEP_TIMEOUT),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[SshServer]:
    """Run a server with SFTP."""
    with ssh_server(tmp_path_factory.mktemp("sshd"), keys, "Subsystem sftp internal-sftp") as server:
        yield server


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """Keep what the collector finds, which collects at the end of the test only."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.enable()


@pytest.mark.parametrize("reuse", list(SessionReuse))
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_no_ending_leaves_a_session_to_the_collector(
    server: SshServer,
    garbage: list[object],
    ending: tuple[ScenarioStep, Client, Outcome],
    reuse: SessionReuse,
) -> None:
    step, by, outcome = ending
    assert one_pass(server, step, by=by, reuse=reuse).outcome is outcome
    gevent.sleep(0.01)
    gc.collect()
    left = [f"{type(thing).__module__}.{type(thing).__name__}" for thing in garbage]
    garbage.clear()
    assert [name for name in left if name.startswith(("ssh2.", "sshload_worker."))] == []
