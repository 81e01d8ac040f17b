-- Claim work by state: two workers never hold the same row, and a row that committed late is not missed.
-- The only way across tenants for a worker: it returns ids and nothing else.

-- Jobs that are due, or whose lease ran out; tenants take turns, the first come of each first, among the first
-- 20 times as many as are asked for. A job that took its worker with it eight times (MAX_ATTEMPTS of
-- outbox/operations.py) is not tried again: it is dead and waits for a person.
CREATE OR REPLACE FUNCTION claim_jobs_v1(p_limit int, p_now timestamptz, p_lease interval)
RETURNS TABLE (job uuid, tenant uuid) LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH due AS (
        SELECT id, tenant_id, next_attempt_at FROM processing_jobs
        WHERE state IN ('queued', 'retrying', 'running') AND next_attempt_at <= p_now
          AND (state <> 'running' OR lease_expires_at < p_now)
        ORDER BY next_attempt_at, id LIMIT p_limit * 20
    ), turns AS (
        SELECT id, row_number() OVER (PARTITION BY tenant_id ORDER BY next_attempt_at, id) AS turn FROM due
    ), chosen AS (
        SELECT waiting.id, turns.turn, waiting.state = 'running' AND waiting.attempts >= 8 AS is_given_up
        FROM processing_jobs waiting JOIN turns ON turns.id = waiting.id
        WHERE waiting.state IN ('queued', 'retrying', 'running') AND waiting.next_attempt_at <= p_now
          AND (waiting.state <> 'running' OR waiting.lease_expires_at < p_now)
        ORDER BY turns.turn, waiting.next_attempt_at, waiting.id LIMIT p_limit FOR UPDATE OF waiting SKIP LOCKED
    ), claimed AS (
        UPDATE processing_jobs job SET
            state = CASE WHEN is_given_up THEN 'dead' ELSE 'running' END,
            attempts = CASE WHEN is_given_up THEN attempts ELSE attempts + 1 END,
            lease_expires_at = CASE WHEN is_given_up THEN NULL ELSE p_now + p_lease END,
            last_error = CASE WHEN is_given_up THEN 'LeaseExpired' ELSE last_error END,
            ended_at = CASE WHEN is_given_up THEN p_now END
        FROM chosen
        WHERE job.id = chosen.id
        RETURNING job.id, job.tenant_id, job.state, chosen.turn, job.next_attempt_at
    )
    SELECT id, tenant_id FROM claimed WHERE state = 'running' ORDER BY turn, next_attempt_at, id
$$;

-- Outbox rows that are due; the next attempt is put off by the lease, so a claim that dies is seen again.
CREATE OR REPLACE FUNCTION claim_outbox_v1(p_limit int, p_now timestamptz, p_lease interval)
RETURNS TABLE (row_id uuid, tenant uuid) LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE outbox SET attempts = attempts + 1, next_attempt_at = p_now + p_lease
    WHERE id IN (
        SELECT id FROM outbox WHERE delivered_at IS NULL AND next_attempt_at <= p_now
        ORDER BY next_attempt_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    RETURNING id, tenant_id
$$;
