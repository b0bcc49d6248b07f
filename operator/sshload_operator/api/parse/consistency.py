"""What parts of a spec say of each other: each alone may be right, and both together not."""

from sshload_contract.capacity import Capacity
from sshload_contract.load import HoldLoad, UsersLoad
from sshload_contract.run_config import Library, SessionReuse

from sshload_operator.api.errors import SpecError
from sshload_operator.api.load_duration import load_duration_s
from sshload_operator.api.parse.external import BY_KEY
from sshload_operator.api.search_time import ENDING_RESERVE_S, least_trial_ms, least_trials, whole_milliseconds
from sshload_operator.api.spec import LoadTestSpec, ManagedTarget

_MICROSECONDS = 1_000_000


def check_consistency(spec: LoadTestSpec) -> None:
    """Raise SpecError for parts that contradict each other."""
    _check_auth(spec)
    _check_sessions(spec)
    _check_ssh2_python(spec)
    _check_openssh(spec)
    _check_deadline(spec)


def _check_auth(spec: LoadTestSpec) -> None:
    if isinstance(spec.target, ManagedTarget) and spec.auth not in BY_KEY:
        raise SpecError("spec.client.auth", "a managed target takes publickey, certificate or agent")


def _check_sessions(spec: LoadTestSpec) -> None:
    scenario, workers = spec.scenario, spec.workers
    if scenario.session_reuse is SessionReuse.USER and not isinstance(spec.load, UsersLoad):
        raise SpecError("spec.scenario.sessionReuse", "user is for load.users only: no other load has users")
    processes = workers.replicas * (workers.processes_per_pod or 1)
    if scenario.session_reuse is SessionReuse.POOL and scenario.pool_sessions < processes:
        raise SpecError(
            "spec.scenario.poolSize",
            f"must be at least one session for each worker process, and there are {processes}",
        )


def _check_ssh2_python(spec: LoadTestSpec) -> None:
    """Refuse a window for SFTP, because libssh2 opens its channel with a window of its own choice."""
    if spec.client.library is not Library.SSH2_PYTHON or not any(
        step.kind.startswith("sftp") for step in spec.scenario.steps
    ):
        return
    for name, size in (("windowSize", spec.client.window_bytes), ("packetSize", spec.client.packet_bytes)):
        if size is not None:
            raise SpecError(
                f"spec.client.{name}", "the library ssh2-python has no such setting for SFTP: use sftpReadSize"
            )


def _check_openssh(spec: LoadTestSpec) -> None:
    if spec.client.library is not Library.OPENSSH:
        return
    if any(host.auth not in BY_KEY for host in spec.via):
        raise SpecError("spec.via", "the library openssh takes publickey, certificate or agent")
    if isinstance(spec.load, HoldLoad) and spec.load.keep_alive_s:
        raise SpecError(
            "spec.load", "the library openssh cannot ask for a sign of life: load.hold.keepAlive must be 0s"
        )


def _check_deadline(spec: LoadTestSpec) -> None:
    if spec.capacity is not None:
        _check_deadline_of_search(spec, spec.capacity)
        return
    needed_s = spec.start_timeout_s + spec.warm_up_s + load_duration_s(spec.load)
    if round(spec.deadline_s * _MICROSECONDS) < round(needed_s * _MICROSECONDS):
        raise SpecError(
            "spec.deadline",
            f"is {spec.deadline_s:g} s, but startTimeout, warmUp and the load take {needed_s:g} s together",
        )


def _check_deadline_of_search(spec: LoadTestSpec, capacity: Capacity) -> None:
    trials, trial_ms = least_trials(capacity.confirm), least_trial_ms(spec.load, spec.warm_up_s)
    if whole_milliseconds(capacity.budget_s) < trials * trial_ms:
        trial_s, rest_s = trial_ms / 1_000, spec.start_timeout_s + ENDING_RESERVE_S
        raise SpecError(
            "spec.deadline",
            f"is {spec.deadline_s:g} s, but startTimeout, {ENDING_RESERVE_S:g} s for the end, and {trials} trials of"
            f" {trial_s:g} s, which find and confirm the bounds, take {rest_s + trials * trial_s:g} s together",
        )
