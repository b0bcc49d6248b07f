"""OpenSSH's own programs as processes: ssh for logins and channels, sftp and scp for files.

A login is one `ssh -M -N` each, whose log tells when it came how far. With `client.controlMaster` each command is a
program of its own that shares that connection (`ssh -S`), as a user's with ControlMaster would be. Without it, the
process that logged in does the command too: it is asked over its control socket (OpenSSH's PROTOCOL.mux), so that
the command's pipes, its exit code and its end are told by that process itself. Files are copied by `sftp` and `scp` on
the same connection, by way of local files in a private directory, which is part of what is timed.
"""
