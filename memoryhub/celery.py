"""Make the Celery application that worker and beat run."""

import os

from celery import Celery
from kombu.transport import virtual

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

app = Celery("memoryhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["memoryhub"])

# A look need not come back. Without this a worker whose broker is killed tries to put back what it had taken over the
# connection that is gone, and ends.
virtual.Channel.do_restore = False

# Looks are cheap when nothing is due. One that waited longer than its period is dropped: the next
# one sees the same rows.
EVERY_SECOND = {"schedule": 1.0, "options": {"expires": 1.0}}
app.conf.beat_schedule = {
    "look at jobs": {"task": "memoryhub.tasks.looks.look_at_jobs", **EVERY_SECOND},
    "look at outbox": {"task": "memoryhub.tasks.looks.look_at_outbox", **EVERY_SECOND},
    "look at ledger": {
        "task": "memoryhub.tasks.looks.look_at_ledger",
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
}
