"""A command, or the reading of a file, by a call for each of its parts: so does a library that has no call for all."""

from collections.abc import Callable
from time import monotonic_ns

from sshload_worker.clients.interface import Channel, CommandEnd, Course, RemoteFile


def run_by_parts(channel: Channel, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
    """Do what `SessionChannel.run` promises."""
    channel.execute(command)
    course.started_ns = monotonic_ns()
    _hand_over(channel.read, take, course)
    end = channel.close()
    course.closed_ns = monotonic_ns()
    return end


def read_by_parts(begin: Callable[[], RemoteFile], take: Callable[[bytes], object], course: Course) -> None:
    """Do what `Sftp.read_file` promises, by the file that `begin` opens."""
    file = begin()
    course.started_ns = monotonic_ns()
    _hand_over(file.read, take, course)
    file.close()
    course.closed_ns = monotonic_ns()


def _hand_over(read: Callable[[], bytes], take: Callable[[bytes], object], course: Course) -> None:
    while piece := read():
        course.first_byte_ns = course.first_byte_ns or monotonic_ns()
        take(piece)
    course.output_end_ns = monotonic_ns()
