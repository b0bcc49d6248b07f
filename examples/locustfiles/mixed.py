"""Two kinds of users: three in four look around, one in four moves files."""

from sshload_worker.locustfile import SSHUser, task


class Operator(SSHUser):
    """Logs in and looks around."""

    weight = 3

    @task(3)
    def uptime(self) -> None:
        """Ask how busy the server is."""
        self.execute("uptime", name="uptime", expect_stdout="load average")

    @task
    def disk(self) -> None:
        """Run two commands in one session."""
        self.execute("df -h .", name="disk")
        self.execute("ls -l /", name="list")


class Uploader(SSHUser):
    """Writes a file of its own, reads it back, and removes it."""

    weight = 1

    def on_start(self) -> None:
        """Begin with the smallest file."""
        self.sizes_bytes = [1_000, 10_000, 100_000]

    @task
    def round_trip(self) -> None:
        """Write, read and remove a file, each time of another size."""
        size_bytes = self.sizes_bytes[0]
        self.sizes_bytes = [*self.sizes_bytes[1:], size_bytes]
        self.sftp_write("upload-{iteration}", size_bytes, name="upload")
        self.sftp_read("upload-{iteration}", name="download", expect_bytes=size_bytes)
        self.sftp_remove("upload-{iteration}", name="remove")
