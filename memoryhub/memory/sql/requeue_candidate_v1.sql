-- Put a candidate's work in the queue again under the epoch that stands now. The old job ends as cancelled with
-- its reason; the unique key of a job contains the epoch, so this is a new job and happens once. That the candidate has
-- a younger epoch than its sources is recorded in the audit.
CREATE OR REPLACE FUNCTION requeue_candidate_v1(p_tenant uuid, p_candidate uuid, p_epoch bigint, p_now timestamptz)
RETURNS void LANGUAGE sql AS $$
    WITH raised AS (
        UPDATE memory_candidates SET deletion_epoch = p_epoch
        WHERE tenant_id = p_tenant AND id = p_candidate AND deletion_epoch < p_epoch
        RETURNING id
    )
    INSERT INTO audit_events (id, tenant_id, action, object_ids, outcome, reason, request_id, at)
    SELECT uuidv7(), p_tenant, 'candidate.requeued', jsonb_build_object('candidate', id, 'epoch', p_epoch), 'queued',
        'epoch_moved', '', p_now
    FROM raised;
    INSERT INTO processing_jobs (id, tenant_id, kind, target_id, scope_id, extractor_version, policy_version,
        deletion_epoch, state, attempts, next_attempt_at, last_error, created_at)
    SELECT uuidv7(), p_tenant, 'consolidate', p_candidate, scope_id, '', policy_version, p_epoch, 'queued', 0,
        p_now, '', p_now
    FROM memory_candidates WHERE tenant_id = p_tenant AND id = p_candidate
    ON CONFLICT ON CONSTRAINT processing_jobs_are_done_once DO NOTHING
$$;
