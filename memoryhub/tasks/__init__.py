"""Interface layer, tasks: Celery's entry points, each one line that calls a use case.

A message says "look", never what to do: the rows say that, so a lost or doubled message costs nothing.
"""

from memoryhub.tasks.looks import look_at_jobs, look_at_ledger, look_at_outbox

__all__ = ["look_at_jobs", "look_at_ledger", "look_at_outbox"]
