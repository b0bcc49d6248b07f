"""`sshload run`, `watch` and `validate`."""
