"""Why a worker does not begin: it cannot generate the load that it is asked for, or may not."""


class GeneratorFaultError(Exception):
    """The worker cannot generate this load; the message says what to change, and holds no credentials."""


class TargetNotAllowedError(Exception):
    """The installation does not allow the server that the worker is to connect to; the message says why."""
