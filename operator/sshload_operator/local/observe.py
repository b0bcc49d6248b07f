"""The facts of a local run, in the operator's own words: its processes are seen as the pods that they stand for."""

import http.client
import os
import time
from http import HTTPStatus
from pathlib import Path

from sshload_contract.bounds import ContractError
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.master_log import MasterLog, read_master_log
from sshload_contract.wire.target import TargetStats

from sshload_operator.local.process import LocalProcess, last_words_path
from sshload_operator.local.process_tree import ProcessTree
from sshload_operator.state import Observed, PodFacts, Role

_ANSWER_TIMEOUT_S = 5.0
"""Whoever does not listen yet refuses at once; whoever listens may have to wait for a CPU before it answers."""

_STATS_EVERY_S = 2.0
_TAIL_BYTES = 65_536
_TERMINATION_MESSAGE_BYTES = 2_048


class TargetCpu:
    """How many cores a target uses, by its own counts, asked for every few seconds: each answer costs it a little."""

    def __init__(self, stats_port: int) -> None:
        self._port = stats_port
        self._before: TargetStats | None = None
        self._asked_at_s = -_STATS_EVERY_S
        self._cores: float | None = None

    def cores(self) -> float | None:
        """Return how many cores it used between the last two answers, None while there are none."""
        if time.monotonic() - self._asked_at_s < _STATS_EVERY_S:
            return self._cores
        self._asked_at_s = time.monotonic()
        answer = _answer(self._port, "/stats")
        try:
            now = None if answer is None else from_json(TargetStats, answer)
        except ContractError:
            now = None
        if now is not None and self._before is not None and now.at_unix_s > self._before.at_unix_s:
            grown_s = now.cpu_s - self._before.cpu_s
            self._cores = max(grown_s, 0.0) / (now.at_unix_s - self._before.at_unix_s)
        self._before = now or self._before
        return self._cores


class LocalObserver:
    """Reads what became of the processes that were started in `tree` and `folder`, which are the run `run_id`."""

    def __init__(self, run_id: str, processes: tuple[LocalProcess, ...], tree: ProcessTree, folder: Path) -> None:
        self._run_id = run_id
        self._folder = folder
        self._processes = processes
        self._tree = tree
        self._ready: set[str] = set()

    def observe(self) -> Observed:
        """Return the facts as they are now. A process that was ready once stays so while it runs."""
        pods = tuple(self._facts(process) for process in self._processes)
        return Observed(pods=pods, log=self._log(), rejected_message="")

    def _facts(self, process: LocalProcess) -> PodFacts:
        code = self._tree.exit_code(process.name)
        return PodFacts(
            name=process.name,
            role=process.role,
            run_id=self._run_id,
            controller_uid="",
            phase="Running" if code is None else "Failed" if code else "Succeeded",
            ready=code is None and self._is_ready(process),
            deleting=False,
            restarts=0,
            waiting_reason="",
            waiting_message="",
            blocked_message="",
            exit_code=code,
            termination_message="" if code is None else self._last_words(process.name),
        )

    def _is_ready(self, process: LocalProcess) -> bool:
        if process.name not in self._ready and (process.ready_port is None or _answers_ready(process.ready_port)):
            self._ready.add(process.name)
        return process.name in self._ready

    def _last_words(self, name: str) -> str:
        """Return what it left behind, or else the end of its log, as the kubelet does."""
        left = last_words_path(self._folder, name)
        path = left if left.exists() else self._tree.log_path(name)
        return _tail(path, _TERMINATION_MESSAGE_BYTES).strip()

    def _log(self) -> MasterLog | None:
        for process in self._processes:
            if process.role is Role.MASTER:
                return _read_log(self._tree.log_path(process.name))
        return None


def _read_log(path: Path) -> MasterLog:
    """Return what the log's end says, and what the whole log says where its end holds only half a summary."""
    end = read_master_log(_tail(path, _TAIL_BYTES))
    if end.summary is None and end.summary_lines:
        return read_master_log(path.read_text(encoding="utf-8", errors="replace"))
    return end


def _tail(path: Path, limit_bytes: int) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - limit_bytes))
        return file.read().decode("utf-8", errors="replace")


def _answers_ready(port: int) -> bool:
    return _answer(port, "/readyz") is not None


def _answer(port: int, path: str) -> str | None:
    """Return what a process answers on loopback, None if it does not answer with OK."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_TIMEOUT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read(_TAIL_BYTES).decode(errors="replace") if answer.status == HTTPStatus.OK else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
