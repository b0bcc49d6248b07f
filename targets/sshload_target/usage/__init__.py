"""CPU time, memory and processes of the container, and their limits, from the kernel's files."""
