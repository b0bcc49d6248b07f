"""The servers of the league: each starts, and takes a login on the core that it is given."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from free_ports import free_port
from one_run import sshload_status
from running import Running, running
from servers import SERVERS, Place, Server, make_host_keys
from ssh_server import write_key

pytestmark = [pytest.mark.root, pytest.mark.slow]

PROMPT = "asyncssh"
"""The server that everybody starts: it needs neither a Debian nor a compiler."""

HYBRID, CURVE = "mlkem768x25519-sha256", "curve25519-sha256"
AGREED = {
    "OpenSSH 9.2": CURVE,
    "OpenSSH 10.0": HYBRID,
    "OpenSSH 10.6": HYBRID,
    "Dropbear 2022": CURVE,
    "Dropbear 2026": HYBRID,
    "TinySSH": CURVE,
    "ProFTPD mod_sftp": CURVE,
    "libssh": HYBRID,
    "asyncssh": HYBRID,
    "Go x/crypto/ssh": HYBRID,
    "russh": HYBRID,
    "Apache MINA SSHD": CURVE,
}
"""The key exchange of the default library with each."""

TEST = """
apiVersion: sshload.dev/v1alpha1
kind: SSHLoadTest
metadata: {{name: login}}
spec:
  target:
    external:
      host: 127.0.0.1
      port: {port}
      user: root
      credentialsSecretRef: {{name: league}}
      knownHostsSecretRef: {{name: league}}
  scenario: {{steps: []}}
  load:
    users:
      stages: [{{users: 1, duration: 1s}}]
  warmUp: 0s
"""


@contextmanager
def a_running(server: Server) -> Iterator[Running]:
    with TemporaryDirectory(prefix="sshload-league-") as name:
        home = Path(name)
        home.chmod(0o700)
        (home / "server").mkdir()
        keys = home / "keys"
        keys.mkdir()
        place = Place(home / "server", free_port(), make_host_keys(keys), write_key(keys / "user"))
        with running(server, place, core=0) as started:
            yield started


@pytest.mark.parametrize(
    "server",
    [pytest.param(one, id=one.name, marks=() if one.name == PROMPT else pytest.mark.full) for one in SERVERS],
)
def test_each_server_takes_logins_by_the_best_key_exchange_in_common_whose_cpu_is_counted(
    server: Server, tmp_path: Path
) -> None:
    with a_running(server) as started:
        before = started.usage()
        test = tmp_path / "login.yaml"
        test.write_text(TEST.format(port=started.place.port))
        status = sshload_status(started, test)
        results = status["results"]
        assert (results["failures"], results["iterations"] > 0) == (0, True), status["message"]
        assert {one["kex"] for one in results["negotiated"]} == {AGREED[server.name]}
        assert started.usage().cpu_s > before.cpu_s
    assert server.version()
    assert server.build()
