"""The SSHLoadTest as values: its spec, parsed once and strictly."""
