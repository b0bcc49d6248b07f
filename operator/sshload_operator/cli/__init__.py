"""The commands of `sshload`."""
