"""The MaxStartups advisor: what sshd's random early drop does to a load, and which setting of it drops nothing."""
