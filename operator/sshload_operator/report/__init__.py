"""The report of a finished test, for people who were not there: one page, or the same as JSON or Markdown. Pure.

`sshload report` alone imports it; the operator's process never does.
"""
