"""What must be done for an SSHLoadTest, and its status. Pure."""
