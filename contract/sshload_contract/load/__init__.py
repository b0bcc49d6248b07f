"""The load models: how many iterations begin when. Totals are over all workers."""

from sshload_contract.load.arrivals import ArrivalProcess, ArrivalsLoad, ArrivalsStage, MaxInFlight, Process, Seed
from sshload_contract.load.burst import BurstLoad, Interval, Repeat
from sshload_contract.load.hold import HoldLoad, KeepAlive, ProbeRate
from sshload_contract.load.model import MOST, LoadDuration
from sshload_contract.load.replay import FACTOR, CopySeed, MaxRate, ReplayLoad, Speed, TraceRef
from sshload_contract.load.search import Load, Search
from sshload_contract.load.users import NO_THINK_TIME, ThinkTime, UserChange, UsersLoad, UsersStage

__all__ = [
    "FACTOR",
    "MOST",
    "NO_THINK_TIME",
    "ArrivalProcess",
    "ArrivalsLoad",
    "ArrivalsStage",
    "BurstLoad",
    "CopySeed",
    "HoldLoad",
    "Interval",
    "KeepAlive",
    "Load",
    "LoadDuration",
    "MaxInFlight",
    "MaxRate",
    "ProbeRate",
    "Process",
    "Repeat",
    "ReplayLoad",
    "Search",
    "Seed",
    "Speed",
    "ThinkTime",
    "TraceRef",
    "UserChange",
    "UsersLoad",
    "UsersStage",
]
