"""The sizes of the property tests: `MEMORYHUB_TEST_SCALE` is `ci` or `nightly`."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", max_examples=200, deadline=None, print_blob=True)
settings.register_profile("nightly", max_examples=5_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("MEMORYHUB_TEST_SCALE", "ci"))
