"""Reports of results: an HTML page, or the same as JSON or Markdown. Pure.

`sshload report` imports it, and the process that makes a page for the operator; the operator's own process never does.
"""
