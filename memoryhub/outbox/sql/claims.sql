-- Claim work by state: two workers never hold the same row, and a row that committed late is not missed.
-- The only way across tenants for a worker: it returns ids and nothing else.

-- Jobs that are due, or whose lease ran out; the first come first.
CREATE FUNCTION claim_jobs_v1(p_limit int, p_now timestamptz, p_lease interval)
RETURNS TABLE (job uuid, tenant uuid) LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH claimed AS (
        UPDATE processing_jobs SET state = 'running', attempts = attempts + 1, lease_expires_at = p_now + p_lease
        WHERE id IN (
            SELECT id FROM processing_jobs
            WHERE (state IN ('queued', 'retrying') AND next_attempt_at <= p_now)
               OR (state = 'running' AND lease_expires_at < p_now)
            ORDER BY next_attempt_at, id LIMIT p_limit FOR UPDATE SKIP LOCKED
        )
        RETURNING id, tenant_id, next_attempt_at
    )
    SELECT id, tenant_id FROM claimed ORDER BY next_attempt_at, id
$$;

-- Outbox rows that are due; the next attempt is put off by the lease, so a claim that dies is seen again.
CREATE FUNCTION claim_outbox_v1(p_limit int, p_now timestamptz, p_lease interval)
RETURNS TABLE (row_id uuid, tenant uuid) LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE outbox SET attempts = attempts + 1, next_attempt_at = p_now + p_lease
    WHERE id IN (
        SELECT id FROM outbox WHERE delivered_at IS NULL AND next_attempt_at <= p_now
        ORDER BY next_attempt_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    RETURNING id, tenant_id
$$;
