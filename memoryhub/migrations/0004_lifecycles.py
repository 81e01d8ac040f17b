"""Let every column with a lifecycle follow the table beside its enum, and close the vocabularies that were open."""

from __future__ import annotations

from django.db import migrations, models

from memoryhub.migrations._sql import put_transitions
from memoryhub.types import enums


class Migration(migrations.Migration):
    """Add the transition triggers of items, conflict sets, evidence and barriers, and the missing CHECKs."""

    dependencies = [("memoryhub", "0003_derived_evidence")]
    operations = [
        put_transitions(table="review_items", column="state", transitions=enums.REVIEW_TRANSITIONS),
        put_transitions(table="conflict_sets", column="state", transitions=enums.CONFLICT_TRANSITIONS),
        put_transitions(table="evidence", column="availability", transitions=enums.AVAILABILITY_TRANSITIONS),
        put_transitions(table="revocations", column="mode", transitions=enums.REVOCATION_TRANSITIONS),
        migrations.AddConstraint(
            model_name="memorycandidate",
            constraint=models.CheckConstraint(
                condition=models.Q(("authority__in", ["database", "git"])), name="memory_candidates_authority_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryversion",
            constraint=models.CheckConstraint(
                condition=models.Q(("epistemic_status__in", ["explicit", "observed", "inferred", "validated"])),
                name="memory_versions_nature_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="scope",
            constraint=models.CheckConstraint(
                condition=models.Q(("authority__in", ["database", "git"])), name="scopes_authority_is_known"
            ),
        ),
    ]
