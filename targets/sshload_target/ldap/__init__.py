"""Accounts that slapd(8) holds and sssd(8) answers for, in the target's own namespace."""
