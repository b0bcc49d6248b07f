"""SSH client libraries behind one small interface, each mapping its errors to Outcomes by the table in outcomes.py."""
