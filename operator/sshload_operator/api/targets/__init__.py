"""The kinds of target: a server that the run makes, one that exists, and a gateway that exists.

Each kind is a module, and answers what the rest of the operator asks a target (`TargetKind`). Nothing else asks of
which kind a target is.
"""

from sshload_operator.api.targets.external import ExternalTarget, JumpHost
from sshload_operator.api.targets.gateway import GatewayTarget
from sshload_operator.api.targets.kind import Server, UserCa
from sshload_operator.api.targets.managed import ManagedTarget

Target = ManagedTarget | ExternalTarget | GatewayTarget

__all__ = ["JumpHost", "ManagedTarget", "Server", "Target", "UserCa"]
