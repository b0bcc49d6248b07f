"""When iterations are due, as a pure function of time, and the generator that begins them then."""
