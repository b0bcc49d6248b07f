"""`sshload trace`: a trace of arrivals from the log of an sshd."""
