"""Which load to try next, and when the capacity is found, as a pure function of the trials so far."""
