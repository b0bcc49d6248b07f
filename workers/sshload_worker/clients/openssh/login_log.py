"""LoginLog: how far a login of ssh has come, from its log at DEBUG1.

The log has ssh's own lines only, and the words that tell one from another stand where it begins: what follows them may
be the server's.
"""

import re

from gevent.event import Event
from sshload_contract.sample import Negotiated
from sshload_contract.vocabulary import Step

_KEPT_LINES = 200
_MILESTONES = (
    (Step.CONNECT, re.compile(r"debug1: (Connection established|Executing proxy command)")),
    (Step.BANNER, re.compile(r"debug1: Remote protocol version")),
    (Step.KEX, re.compile(r"debug1: SSH2_MSG_NEWKEYS received")),
    (Step.AUTH, re.compile(r"debug1: Entering interactive session")),
)
_AGREED = {
    "kex": re.compile(r"debug1: kex: algorithm: (\S+)"),
    "host_key": re.compile(r"debug1: kex: host key algorithm: (\S+)"),
    "cipher": re.compile(r"debug1: kex: client->server cipher: (\S+)"),
    "mac": re.compile(r"debug1: kex: client->server cipher: \S+ MAC: (\S+)"),
    "server_version": re.compile(r"debug1: Remote protocol version [\d.]+, remote software version (.*)"),
}
_KILLED = re.compile(r"debug1: client_input_channel_req: channel \d+ rtype exit-signal ")
_EXIT_STATUS = re.compile(r"debug1: client_input_channel_req: channel \d+ rtype exit-status ")
_REFUSED = re.compile(r"channel \d+: open failed: (.*)")


class LoginLog:
    """What ssh has written so far. Each milestone is set when it is reached, all of them at the log's end."""

    def __init__(self) -> None:
        self.milestones = {step: Event() for step, _ in _MILESTONES}
        self.reached: set[Step] = set()
        self.lines: list[str] = []
        self.exit_statuses = 0
        self._killed = 0
        self._refusals: list[str] = []
        self._agreed = dict.fromkeys(_AGREED, "")
        self._rest = b""

    def take(self, piece: bytes) -> None:
        """Take the next piece of the log."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._take_line(line.decode("utf-8", "replace").rstrip("\r"))

    def end(self) -> None:
        """Take the end of the log."""
        if self._rest:
            self.take(b"\n")
        for milestone in self.milestones.values():
            milestone.set()

    def claim_killed(self) -> bool:
        """Tell whether the server said of a command that a signal ended it, once for each."""
        claimed = self._killed > 0
        self._killed -= claimed
        return claimed

    def claim_refusal(self) -> str | None:
        """Return why the server has opened no channel, once for each; None where it has opened all."""
        return self._refusals.pop(0) if self._refusals else None

    def negotiated(self) -> Negotiated:
        """Return what the first handshake agreed on."""
        agreed = self._agreed
        return Negotiated(
            kex=agreed["kex"],
            cipher=agreed["cipher"],
            mac=agreed["mac"].strip("<>"),
            host_key=agreed["host_key"],
            server_version=f"SSH-2.0-{agreed['server_version']}",
        )

    def _take_line(self, line: str) -> None:
        if len(self.lines) < _KEPT_LINES or Step.AUTH in self.reached:
            self.lines = [*self.lines[-_KEPT_LINES:], line]
        for step, pattern in _MILESTONES:
            if step not in self.reached and pattern.match(line):
                self.reached.add(step)
                self.milestones[step].set()
        for name, pattern in _AGREED.items():
            if not self._agreed[name] and (said := pattern.match(line)):
                self._agreed[name] = said[1]
        self.exit_statuses += bool(_EXIT_STATUS.match(line))
        self._killed += bool(_KILLED.match(line))
        if refused := _REFUSED.match(line):
            self._refusals.append(refused[1])
