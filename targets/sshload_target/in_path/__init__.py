"""PID 1 of a program in the path to a managed target: it starts the program, observes it, and ends every process."""
