"""How long a load lasts."""

from sshload_contract.run_config import BurstLoad, Load


def load_duration_s(load: Load) -> float:
    """Return the seconds of the measured part of a load; a burst's last interval counts as one."""
    if isinstance(load, BurstLoad):
        return load.repeat * load.interval_s
    return sum(stage.duration_s for stage in load.stages)
