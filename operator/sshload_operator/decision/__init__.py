"""What is to be done, and what a status says: a pure function of what is planned, remembered and observed."""
