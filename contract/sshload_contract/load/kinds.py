"""The load models, and how each is searched for the capacity. Whatever else concerns one of them is in its module."""

from typing import TypeAlias

from sshload_contract.load.arrivals import ArrivalsLoad, ArrivalsSearch
from sshload_contract.load.burst import BurstLoad, BurstSearch
from sshload_contract.load.hold import HoldLoad, HoldSearch
from sshload_contract.load.replay import ReplayLoad, ReplaySearch
from sshload_contract.load.users import UsersLoad, UsersSearch
from sshload_contract.load.waves import WaveLoad

SearchedLoad: TypeAlias = UsersLoad | ArrivalsLoad | BurstLoad | HoldLoad | ReplayLoad
"""Those of which a search varies the amount."""
Load: TypeAlias = SearchedLoad | WaveLoad
LoadSearch: TypeAlias = UsersSearch | ArrivalsSearch | BurstSearch | HoldSearch | ReplaySearch
