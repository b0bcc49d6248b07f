"""A command done by a call for each of its parts, which is how a library does it that has no call for all of them."""

from collections.abc import Callable
from time import monotonic_ns

from sshload_worker.clients.interface import Channel, CommandCourse, CommandEnd


def run_by_parts(channel: Channel, command: str, take: Callable[[bytes], object], course: CommandCourse) -> CommandEnd:
    """Do what `Channel.run` promises."""
    channel.execute(command)
    course.started_ns = monotonic_ns()
    while piece := channel.read():
        course.first_byte_ns = course.first_byte_ns or monotonic_ns()
        take(piece)
    course.output_end_ns = monotonic_ns()
    end = channel.close()
    course.closed_ns = monotonic_ns()
    return end
