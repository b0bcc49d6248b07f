"""A server as its distribution has it: sshd as root, with PAM and the accounts of a population, in a private /etc."""
