"""The operator as a process, between it and the API server a proxy that plays what the test wants."""

from operator_process import operator, pods, proxy

__all__ = ["operator", "pods", "proxy"]
