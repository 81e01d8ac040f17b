"""Make the Celery application that worker and beat run."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

app = Celery("memoryhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["memoryhub"])

# Looks are cheap when nothing is due. One that waited longer than its period is dropped: the next
# one sees the same rows.
EVERY_SECOND = {"schedule": 1.0, "options": {"expires": 1.0}}
app.conf.beat_schedule = {
    "look at jobs": {"task": "memoryhub.tasks.looks.look_at_jobs", **EVERY_SECOND},
    "look at outbox": {"task": "memoryhub.tasks.looks.look_at_outbox", **EVERY_SECOND},
}
