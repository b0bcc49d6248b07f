"""When iterations are due, as a pure function of time, and the generator that starts them on time."""
