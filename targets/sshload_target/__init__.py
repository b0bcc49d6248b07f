"""The managed target: PID 1 of its container, with sshd under it, and what the server saw."""
