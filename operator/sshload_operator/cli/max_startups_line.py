"""What the result says of MaxStartups: what the rule explains of the drops, and what to set."""

from collections.abc import Iterator

from sshload_operator.cli.plain_text import Status, printable


def max_startups_line(results: Status) -> Iterator[str]:
    """Yield a line, or none where the status has no advice."""
    if "maxStartups" in results:
        yield f"startups   {printable(results['maxStartups']['message'])}"
