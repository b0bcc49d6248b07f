"""What a spec may ask for if its target is a gateway, which runs commands and lists directories only."""

from collections.abc import Iterator, Mapping
from typing import Final

from sshload_contract.client import Auth, Library
from sshload_contract.declared import Rule
from sshload_contract.steps import ExecStep, SftpListStep, SleepStep, Step
from sshload_contract.vocabulary import Timing, measured_step

from sshload_operator.api.shapes.errors import shown
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.targets.gateway import GATEWAY

ACCESS: Final = GATEWAY
_FIELDS: Final = {
    ".target.gateway": "has(self.target.gateway)",
    ".target.managed.gateway": "(has(self.target.managed) && has(self.target.managed.gateway))",
}
"""Where a spec names a gateway, with what tells so in CEL."""
CONDITION: Final = f"({' || '.join(_FIELDS.values())})"
_TIMINGS: Final[Mapping[type[Step], tuple[str, ...]]] = {
    ExecStep: (Timing.GATEWAY_WAIT, Timing.GATEWAY_LOGIN, Timing.GATEWAY_COMMAND, Timing.COMMAND),
    SftpListStep: (SftpListStep.kind,),
    SleepStep: (),
}
"""The steps that a gateway can do, with the timings that they take there."""
_POSSIBLE_IN_CEL: Final = " || ".join(f"has(s.{kind.kind})" for kind in _TIMINGS)
_POSSIBLE_WORDS: Final = ", ".join(kind.kind for kind in _TIMINGS)
_OF_EVERY_ITERATION: Final = (Timing.TOTAL, Timing.CONNECT, Timing.TLS)
_UNUSED: Final = (
    "kexAlgorithms",
    "ciphers",
    "macs",
    "hostKeyAlgorithms",
    "rekeyLimit",
    "windowSize",
    "packetSize",
    "readBufferSize",
    "sftpReadSize",
    "sftpWriteSize",
    "extraKeys",
    "prompts",
)
"""The settings of spec.client that a gateway's callers have no use for."""


def timings(spec: LoadTestSpec) -> Iterator[str]:
    """Yield the timings that a run against a gateway takes."""
    yield from map(str, _OF_EVERY_ITERATION)
    for step in spec.scenario.steps:
        yield from (measured_step(step.name, timing) for timing in _TIMINGS.get(type(step), ()))


def _impossible_steps(spec: LoadTestSpec) -> list[str]:
    return [step.kind for step in spec.scenario.steps if type(step) not in _TIMINGS]


def _words(timings: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{timing}'" for timing in timings) + "]"


TIMINGS_IN_CEL: Final = (
    f"(t.latency.step in {_words(_OF_EVERY_ITERATION)} || has(self.scenario.steps)"
    " && self.scenario.steps.exists(s, "
    + " || ".join(
        f"(has(s.{kind.kind}) && t.latency.step in {_words(taken)}"
        f".map(p, has(s.{kind.kind}.name) ? s.{kind.kind}.name + '.' + p : p))"
        for kind, taken in _TIMINGS.items()
        if taken
    )
    + "))"
)
"""Whether the step of the latency threshold `t` is a timing of a run against a gateway."""


def _no_ssh_beside(field: str) -> Rule:
    return Rule(
        f"!{_FIELDS[field]} || (!has(self.via) || self.via.size() == 0) && has(self.scenario.steps)"
        " && !has(self.load.hold) && !(has(self.load.capacity) && has(self.load.capacity.hold))",
        "must not have via, locustfile or hold: they are for SSH only",
        at=field,
        explain=lambda spec: f"must not have {' or '.join(_ssh_beside(spec))}: a gateway's workers speak HTTP, not SSH",
    )


def _ssh_beside(spec: LoadTestSpec) -> list[str]:
    """Return the fields of the spec that a gateway does not take, as its author writes them."""
    found = {
        "via": spec.via,
        "scenario.locustfile": spec.locustfile is not None,
        spec.load.field: spec.load.least.held_sessions,
    }
    return [field for field, is_there in found.items() if is_there]


RULES: Final = (
    *map(_no_ssh_beside, _FIELDS),
    Rule(
        f"!{CONDITION} || !has(self.scenario.steps) || self.scenario.steps.size() > 0"
        f" && self.scenario.steps.all(s, {_POSSIBLE_IN_CEL})",
        f"must have at least one step with a gateway, and only {_POSSIBLE_WORDS}: other steps need an SSH session",
        at=".scenario.steps",
        explain=lambda spec: (
            f"can be only {_POSSIBLE_WORDS} with a gateway: {shown(_impossible_steps(spec)[0])} needs an SSH session"
            if _impossible_steps(spec)
            else "must have at least one step with a gateway, which has no login to measure by itself. It can be"
            f" {_POSSIBLE_WORDS}"
        ),
    ),
    Rule(
        f"!{CONDITION} || !has(self.client) || self.client.library == '{Library.SSH2_PYTHON}'"
        f" && !self.client.controlMaster && !self.client.compression && self.client.auth == '{Auth.PUBLICKEY}'"
        + "".join(f" && !has(self.client.{name})" for name in _UNUSED),
        "can have only timeouts, quickAck and networkDelay with a gateway: the workers do not speak SSH",
        at=".client",
    ),
)
