"""GeneratorFaultError: the worker cannot generate the load that it is asked for, and says so before the start."""


class GeneratorFaultError(Exception):
    """The worker cannot generate this load; the message says what to change, and holds no credentials."""
