"""Look for what is due; while there was work, look again."""

from memoryhub.celery import app
from memoryhub.lib import clock
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.run_jobs import run_due_jobs


@app.task
def look_at_jobs() -> None:
    """Do one batch of due jobs, and pass on what they changed."""
    if run_due_jobs(now=clock.now()):
        look_at_jobs.delay()
        look_at_outbox.delay()


@app.task
def look_at_outbox() -> None:
    """Deliver one batch of the outbox."""
    if relay_outbox(now=clock.now()):
        look_at_outbox.delay()
