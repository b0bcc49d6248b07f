"""The load models: how many iterations begin when. Totals are over all workers."""

from sshload_contract.load.arrivals import ArrivalProcess, ArrivalsLoad, ArrivalsStage
from sshload_contract.load.burst import BurstLoad
from sshload_contract.load.hold import HoldLoad
from sshload_contract.load.kinds import Load, LoadSearch
from sshload_contract.load.model import MOST
from sshload_contract.load.replay import ReplayLoad, TraceRef
from sshload_contract.load.search import Search
from sshload_contract.load.users import ThinkTime, UserChange, UsersLoad, UsersStage

__all__ = [
    "MOST",
    "ArrivalProcess",
    "ArrivalsLoad",
    "ArrivalsStage",
    "BurstLoad",
    "HoldLoad",
    "Load",
    "LoadSearch",
    "ReplayLoad",
    "Search",
    "ThinkTime",
    "TraceRef",
    "UserChange",
    "UsersLoad",
    "UsersStage",
]
