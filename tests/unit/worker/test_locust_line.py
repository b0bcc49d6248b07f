"""What a process says last reaches a peer that takes it late, though the process ends at once."""

import subprocess
import sys

import gevent
from free_ports import free_port
from locust.rpc.protocol import Message
from locust.rpc.zmqrpc import Server

_SPEAKER = """
from gevent import monkey
monkey.patch_all()
import sys
from locust.rpc.protocol import Message
from locust.rpc.zmqrpc import Client
from sshload_worker.coordination.messages import flush_and_close

line = Client("127.0.0.1", int(sys.argv[1]), "worker-0")
line.send(Message("leave", {"message": "told to terminate"}, "worker-0"))
print("said", flush=True)
flush_and_close(line, 60_000)
"""


def test_the_last_message_arrives_though_its_sender_exits_before_anybody_takes_it() -> None:
    port = free_port()
    speaker = subprocess.Popen([sys.executable, "-c", _SPEAKER, str(port)], stdout=subprocess.PIPE, text=True)
    assert speaker.stdout is not None
    with speaker, speaker.stdout as said:
        assert said.readline() == "said\n"
        master = Server("127.0.0.1", port)
        try:
            with gevent.Timeout(60):
                sender, message = master.recv_from_client()
        finally:
            master.close(linger=0)
    assert isinstance(message, Message)
    assert (sender, message.type, message.data) == ("worker-0", "leave", {"message": "told to terminate"})
    assert speaker.returncode == 0
