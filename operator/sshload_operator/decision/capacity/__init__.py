"""The verdict on a search for the capacity, what limits the server, and the status of the search. Pure."""
