"""Scenarios written as locustfiles: `from sshload_worker.locustfile import SSHUser, task`."""

from locust import task

from sshload_worker.locustfile.ssh_user import SSHUser

__all__ = ["SSHUser", "task"]
