"""HeldRange: how many sessions were held at once at most and at least, from the end of the ramp on."""

from sshload_contract.load import HoldLoad
from sshload_contract.reporting import oldest_word_s
from sshload_contract.run_config import RunConfig

from sshload_worker.pacing.load import duration_s
from sshload_worker.summary.progress import Progress


class HeldRange:
    """The most and the least of the marks in the time in which all sessions are to be held, None without any."""

    def __init__(self, config: RunConfig) -> None:
        load = config.load
        self._holds = isinstance(load, HoldLoad)
        ramp_up_s = load.ramp_up_s if isinstance(load, HoldLoad) else 0.0
        self._begin_s = config.warm_up_s + ramp_up_s + oldest_word_s(config.workers)
        self._end_s = config.warm_up_s + duration_s(load)
        self.most: int | None = None
        self.least: int | None = None

    def observe(self, mark: Progress) -> None:
        """Take a mark in, if it is of that time."""
        if self._holds and self._begin_s <= mark.at_s < self._end_s:
            self.most = mark.held if self.most is None else max(self.most, mark.held)
            self.least = mark.held if self.least is None else min(self.least, mark.held)
