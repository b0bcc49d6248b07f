"""A gateway in place of an SSH server: commands and directory listings over HTTP, measured like those over SSH."""
