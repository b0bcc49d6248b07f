"""What is to be done about an SSHLoadTest, and what its status says. Pure."""
