"""The two kinds of processes of a run, master and worker: their messages to each other, and their outputs."""
