"""Runs a command or reads a file with one call for each part, for libraries that have no single call for it."""

from collections.abc import Callable
from functools import partial
from time import monotonic_ns

from sshload_worker.clients.interface import Channel, CommandEnd, Course, RemoteFile, Sftp


def run_by_parts(channel: Channel, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
    """Implement `SessionChannel.run`."""
    channel.execute(command)
    course.started_ns = monotonic_ns()
    _pass_on(channel.read, take, course)
    end = channel.close()
    course.closed_ns = monotonic_ns()
    return end


def read_file_by_parts(sftp: Sftp, path: str, take: Callable[[bytes], object], course: Course) -> None:
    """Implement `Sftp.read_file`."""
    read_by_parts(partial(sftp.open_to_read, path), take, course)


def read_by_parts(begin: Callable[[], RemoteFile], take: Callable[[bytes], object], course: Course) -> None:
    """Read the file that `begin` opens, as `Sftp.read_file` does."""
    file = begin()
    course.started_ns = monotonic_ns()
    _pass_on(file.read, take, course)
    file.close()
    course.closed_ns = monotonic_ns()


def _pass_on(read: Callable[[], bytes], take: Callable[[bytes], object], course: Course) -> None:
    while piece := read():
        course.first_byte_ns = course.first_byte_ns or monotonic_ns()
        take(piece)
    course.output_end_ns = monotonic_ns()
