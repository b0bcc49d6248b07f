"""How a target fails: with a reason for people, and an exit code."""

from typing import ClassVar

from sshload_contract.wire.target import NO_USER_NAMESPACE_EXIT


class TargetError(Exception):
    """The target cannot go on. The text goes to stderr and to the container's termination message."""

    exit_code: ClassVar[int] = 1


class ConfigRefusedError(TargetError):
    """The configuration cannot be served. Another try does not help: it has to change."""

    exit_code: ClassVar[int] = 78  # EX_CONFIG of sysexits.h


class SshdEndedError(TargetError):
    """The sshd under us has ended unasked."""


class DaemonEndedError(TargetError):
    """A daemon beside sshd has ended unasked."""


class ProgramEndedError(TargetError):
    """The program in the path under us has ended unasked."""


class InterruptedTargetError(TargetError):
    """A signal asked for the end before sshd, or the program, was started. That is an orderly end."""

    exit_code: ClassVar[int] = 0


class NoUserNamespaceError(TargetError):
    """The pod has no user namespace of its own: its root would be the node's."""

    exit_code: ClassVar[int] = NO_USER_NAMESPACE_EXIT
