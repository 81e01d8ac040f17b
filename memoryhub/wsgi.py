"""Offer memoryhub to a server that speaks WSGI."""

import os

from django.core.wsgi import get_wsgi_application

from memoryhub.embedded.processes import bind_worker_to_parent
from memoryhub.policy.screening import load_detector

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

if os.environ.get("MEMORYHUB_PROCESS") == "web":
    bind_worker_to_parent()

application = get_wsgi_application()

if os.environ.get("MEMORYHUB_PROCESS") == "web":
    load_detector()  # before the first write has to wait for it
