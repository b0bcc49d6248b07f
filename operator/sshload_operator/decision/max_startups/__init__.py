"""The MaxStartups advisor: the effect of sshd's random early drop on a load, and the setting that drops nothing."""
