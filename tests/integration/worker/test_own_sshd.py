"""What the sshd of these tests leaves behind when it ends: nothing, so that a test may leave a session as it is."""

from pathlib import Path

import gevent
from below import state
from gevent import Timeout
from ssh2_connections import logged_in, login_to
from ssh_server import Keys, ssh_server


def test_a_command_whose_session_is_gone_ends_with_its_server(tmp_path: Path, keys: Keys) -> None:
    with ssh_server(tmp_path, keys) as server:
        with logged_in(login_to(server)) as connection:
            channel = connection.open_channel()
            channel.execute("echo $$; exec sleep 3600")
            pid = int(channel.read())
            server.hang_up()
        assert state(pid) not in {"", "Z"}
    with Timeout(60):
        while state(pid) not in {"", "Z"}:
            gevent.sleep(0.01)
