"""Run the tests with the product's settings in a home of their own."""

import os

from memoryhub.embedded.paths import PROJECT

os.environ.setdefault("MEMORYHUB_HOME", str(PROJECT / "var" / "test"))

from memoryhub.settings import *  # noqa: F403 - the home must be known first

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True  # looks when it is asked: no folder of collected files is needed

MODEL_URL = MODEL_NAME = ""  # no test asks a model unless it sets up the endpoint itself
