"""What the master and its workers say to each other beside Locust's own messages, each with its fields."""

HELLO = "sshloadHello"
"""Worker: {run_id, worker}. It is connected."""

READY = "sshloadReady"
"""Worker: {worker}. It has resolved the target, read its files, and can be started."""

TARGET_PROBLEM = "sshloadTargetProblem"
"""Worker: {worker, message}. Why the target cannot be reached yet; it tries again."""

START = "sshloadStart"
"""Master: {lead_s, of}. Begin `lead_s` after this arrives, as one of `of` workers.

A lead, not an instant of the wall clock: clocks of nodes differ by more than messages take.
"""

REPORT = "sshloadReport"
"""Worker: {report}. A Report as JSON."""

STOP = "sshloadStop"
"""Master: {}. End what runs as unfinished, and send the final report now."""

END = "sshloadEnd"
"""Master: {}. Nothing more is wanted: exit with 0."""

FAULT = "sshloadFault"
"""Worker: {worker, message}. It cannot generate the load, and exits."""

LEAVE = "sshloadLeave"
"""Worker: {worker, message}. It was told to terminate, and exits."""
