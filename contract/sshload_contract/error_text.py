"""What an error of the operating system says."""


def reason_of(error: OSError) -> str:
    """Return the reason in words: Python leaves `strerror` empty for a time-out, for one."""
    return error.strerror or str(error) or type(error).__name__
