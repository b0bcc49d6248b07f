"""The two processes of a run, the master and the worker, and what they say to each other and to the outside."""
