"""A gateway in place of an SSH server: commands and directory listings over HTTP, measured as those over SSH are."""
