"""LogCounts: the totals of sshd's log. A pure fold over its events."""

from dataclasses import dataclass, replace

from sshload_target.sshd.log_line import (
    Accepted,
    AuthFailed,
    DropEpisode,
    Dropped,
    DropReason,
    ForkRefused,
    Listening,
    LogEvent,
    OmittedDrops,
)

# OpenSSH 10.0, sshd.c, drop_connection: from the 4th drop by MaxStartups and the 8th by a penalty lines are left out.
_ALL_LOGGED_BELOW = {DropReason.MAX_STARTUPS: 3, DropReason.PENALTY: 7}


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Totals since sshd's start.

    `episode_counted` are the drops of the episode of throttling that is going on (sshd to 9.9), 0 outside of one;
    `rate_limited` says that this sshd (from 10.0) limits the rate of its lines on MaxStartups.
    """

    accepted: int = 0
    auth_failed: int = 0
    dropped_max_startups: int = 0
    dropped_penalty: int = 0
    refused_forks: int = 0
    episode_counted: int = 0
    rate_limited: bool = False

    @property
    def is_lower_bound(self) -> bool:
        """Whether sshd may have dropped more than it has told so far."""
        return (
            self.episode_counted > 0
            or self.dropped_penalty >= _ALL_LOGGED_BELOW[DropReason.PENALTY]
            or (self.rate_limited and self.dropped_max_startups >= _ALL_LOGGED_BELOW[DropReason.MAX_STARTUPS])
        )


def add_event(counts: LogCounts, event: LogEvent) -> LogCounts:
    """Return `counts` with `event` in them."""
    match event:
        case Accepted():
            return replace(counts, accepted=counts.accepted + 1)
        case AuthFailed():
            return replace(counts, auth_failed=counts.auth_failed + 1)
        case ForkRefused():
            return replace(counts, refused_forks=counts.refused_forks + 1)
        case Dropped() | OmittedDrops() | DropEpisode():
            return _count_drops(counts, event)
        case Listening():
            return counts


def _count_drops(counts: LogCounts, event: Dropped | OmittedDrops | DropEpisode) -> LogCounts:
    match event:
        case Dropped():
            return _count_dropped(counts, event)
        case OmittedDrops():
            return _add_dropped(counts, event.reason, event.count)
        case DropEpisode():
            return _count_episode(counts, event)


def _count_dropped(counts: LogCounts, event: Dropped) -> LogCounts:
    counts = _add_dropped(counts, event.reason, 1)
    if event.reason is DropReason.PENALTY:
        return counts
    if event.rate_limited:
        return replace(counts, rate_limited=True)
    return replace(counts, episode_counted=counts.episode_counted + 1)


def _add_dropped(counts: LogCounts, reason: DropReason, number: int) -> LogCounts:
    if reason is DropReason.PENALTY:
        return replace(counts, dropped_penalty=counts.dropped_penalty + number)
    return replace(counts, dropped_max_startups=counts.dropped_max_startups + number)


def _count_episode(counts: LogCounts, event: DropEpisode) -> LogCounts:
    """Add the drops without a line. The total of an episode under way includes the drop of the next line."""
    told_total = event.total if event.ended else event.total - 1
    untold = max(0, told_total - counts.episode_counted)
    counts = _add_dropped(counts, DropReason.MAX_STARTUPS, untold)
    return replace(counts, episode_counted=0 if event.ended else counts.episode_counted + untold)
