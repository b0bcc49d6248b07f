"""The sshd that is measured: its configuration, its process, its log, and its connections."""
