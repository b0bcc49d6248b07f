"""How long a load lasts."""

from sshload_contract.load import BurstLoad, HoldLoad, Load


def load_duration_s(load: Load) -> float:
    """Return the seconds of the measured part of a load, with a burst's last interval and the ramp of held sessions."""
    if isinstance(load, BurstLoad):
        return load.repeat * load.interval_s
    if isinstance(load, HoldLoad):
        return load.ramp_up_s + load.duration_s
    return sum(stage.duration_s for stage in load.stages)
