"""Record the requeues from before they were recorded, so that no candidate's epoch stays unexplained."""

from __future__ import annotations

from django.db import migrations

# Until the migration before this one a candidate that was put in the queue again left no trace but its epoch.
FORMER_REQUEUES = """
    INSERT INTO audit_events (id, tenant_id, action, object_ids, outcome, reason, request_id, at)
    SELECT uuidv7(), held.tenant_id, 'candidate.requeued',
        jsonb_build_object('candidate', held.id, 'epoch', held.deletion_epoch), 'queued', 'before_it_was_recorded', '',
        now()
    FROM memory_candidates held
    WHERE held.deletion_epoch > (
        SELECT least(record.deletion_epoch, min(quoted.deletion_epoch))
        FROM source_events record
        LEFT JOIN candidate_evidence link ON link.tenant_id = held.tenant_id AND link.candidate_id = held.id
        LEFT JOIN evidence item ON item.tenant_id = held.tenant_id AND item.id = link.evidence_id
        LEFT JOIN source_events quoted ON quoted.tenant_id = held.tenant_id AND quoted.id = item.event_id
        WHERE record.tenant_id = held.tenant_id AND record.id = held.source_event_id
        GROUP BY record.deletion_epoch
    ) AND NOT EXISTS (
        SELECT FROM audit_events known
        WHERE known.tenant_id = held.tenant_id AND known.action = 'candidate.requeued'
          AND known.object_ids->>'candidate' = held.id::text
    )
"""


class Migration(migrations.Migration):
    """Write one audit event for each candidate that was put in the queue again."""

    dependencies = [("memoryhub", "0016_record_requeues")]
    operations = [migrations.RunSQL(FORMER_REQUEUES, migrations.RunSQL.noop)]
