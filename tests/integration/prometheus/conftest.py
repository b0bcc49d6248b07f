"""The operator is a process that a played master talks to."""

from operator_process import operator, proxy

__all__ = ["operator", "proxy"]
