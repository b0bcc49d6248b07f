"""The credentials at rest: the database, its migrations, and the encryption of private keys."""
