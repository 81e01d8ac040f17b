"""Let each of the kernel's operations be one call by itself."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the functions that append, write, rule and erase once."""

    dependencies = [("memoryhub", "0013_screen_and_admit")]
    operations = [put_sql(("kernel", "surface"))]
