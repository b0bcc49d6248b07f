"""What is said of a search for the capacity: its verdict, what limits the server, and the status of it. Pure."""
