-- Claim work by state: two workers never hold the same row, and a row that committed late is not missed.
-- The only way across tenants for a worker: it returns ids and nothing else.
--
-- Both functions go around the ring of tenants that have work, from the one after `p_after` on, one index probe a
-- tenant, until as many as rows are asked for have something due; among these, tenants take turns, the first come of
-- each first. So neither a long table nor a long queue of one tenant makes a claim slow or keeps anybody waiting.
-- The settings keep the planner on the index `…_waiting`: it has no statistics by tenant, and would sort the queue.
-- Rows are met again by their place (ctid), never by a scan (hence `|| ''`, which no index answers); one that moved
-- meanwhile is left for the next claim.
--
-- What was claimed before and never ended took its worker with it, or was with something that did. It comes back as
-- `is_again` after its lease and counts as an attempt only when it is begun, by itself; after 8 attempts
-- (MAX_ATTEMPTS of outbox/operations.py) it is dead and waits for a person.

DROP FUNCTION IF EXISTS claim_jobs_v1(int, timestamptz, interval);
CREATE OR REPLACE FUNCTION claim_jobs_v1(p_limit int, p_now timestamptz, p_lease interval, p_after uuid)
RETURNS TABLE (job uuid, tenant uuid, is_again boolean) LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET enable_incremental_sort = off AS $$
    WITH RECURSIVE later AS (
        SELECT p_after AS tenant_id, false AS is_due
        UNION ALL
        SELECT next.tenant_id, next.next_attempt_at <= p_now
        FROM later CROSS JOIN LATERAL (
            SELECT other.tenant_id, other.next_attempt_at FROM processing_jobs other
            WHERE other.state IN ('queued', 'retrying', 'running') AND other.tenant_id > later.tenant_id
            ORDER BY other.tenant_id, other.next_attempt_at LIMIT 1
        ) next
    ), earlier AS (
        SELECT '00000000-0000-0000-0000-000000000000'::uuid AS tenant_id, false AS is_due
        UNION ALL
        SELECT next.tenant_id, next.next_attempt_at <= p_now
        FROM earlier CROSS JOIN LATERAL (
            SELECT other.tenant_id, other.next_attempt_at FROM processing_jobs other
            WHERE other.state IN ('queued', 'retrying', 'running') AND other.tenant_id > earlier.tenant_id
              AND other.tenant_id <= p_after
            ORDER BY other.tenant_id, other.next_attempt_at LIMIT 1
        ) next
    ), ring AS (
        SELECT tenant_id FROM (
            SELECT tenant_id FROM later WHERE is_due UNION ALL SELECT tenant_id FROM earlier WHERE is_due
        ) around LIMIT p_limit
    ), turns AS (
        -- More than are asked for: other workers hold some of them at this moment.
        SELECT due.place, row_number() OVER (PARTITION BY ring.tenant_id ORDER BY due.next_attempt_at, due.id) AS turn
        FROM ring CROSS JOIN LATERAL (
            SELECT waiting.ctid AS place, waiting.id, waiting.next_attempt_at FROM processing_jobs waiting
            WHERE waiting.tenant_id = ring.tenant_id AND waiting.state IN ('queued', 'retrying', 'running')
              AND waiting.next_attempt_at <= p_now
            ORDER BY waiting.next_attempt_at, waiting.id
            LIMIT (SELECT 1 + 8 * p_limit / greatest(count(*), 1) FROM ring)
        ) due
    ), chosen AS (
        SELECT waiting.ctid AS place, turns.turn, waiting.state = 'running' AS is_again,
            waiting.state = 'running' AND waiting.attempts >= 8 AS is_given_up
        FROM turns JOIN processing_jobs waiting ON waiting.ctid = turns.place
        WHERE waiting.state || '' IN ('queued', 'retrying', 'running') AND waiting.next_attempt_at <= p_now
        ORDER BY turns.turn, waiting.next_attempt_at, waiting.id LIMIT p_limit FOR UPDATE OF waiting SKIP LOCKED
    ), claimed AS (
        UPDATE processing_jobs held SET
            state = CASE WHEN is_given_up THEN 'dead' ELSE 'running' END,
            attempts = CASE WHEN is_again THEN attempts ELSE attempts + 1 END,
            next_attempt_at = CASE WHEN is_given_up THEN p_now ELSE p_now + p_lease END,
            lease_expires_at = CASE WHEN is_given_up THEN NULL ELSE p_now + p_lease END,
            last_error = CASE WHEN is_given_up THEN 'LeaseExpired' ELSE last_error END,
            ended_at = CASE WHEN is_given_up THEN p_now END
        FROM chosen
        WHERE held.ctid = chosen.place
        RETURNING held.id, held.tenant_id, held.state, chosen.is_again, chosen.turn
    )
    SELECT id, tenant_id, is_again FROM claimed WHERE state = 'running' ORDER BY is_again, turn, id
$$;

DROP FUNCTION IF EXISTS claim_outbox_v1(int, timestamptz, interval);
CREATE OR REPLACE FUNCTION claim_outbox_v1(p_limit int, p_now timestamptz, p_lease interval, p_after uuid)
RETURNS TABLE (row_id uuid, tenant uuid, is_again boolean) LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET enable_incremental_sort = off AS $$
    WITH RECURSIVE later AS (
        SELECT p_after AS tenant_id, false AS is_due
        UNION ALL
        SELECT next.tenant_id, next.next_attempt_at <= p_now
        FROM later CROSS JOIN LATERAL (
            SELECT other.tenant_id, other.next_attempt_at FROM outbox other
            WHERE other.state = 'waiting' AND other.tenant_id > later.tenant_id
            ORDER BY other.tenant_id, other.next_attempt_at LIMIT 1
        ) next
    ), earlier AS (
        SELECT '00000000-0000-0000-0000-000000000000'::uuid AS tenant_id, false AS is_due
        UNION ALL
        SELECT next.tenant_id, next.next_attempt_at <= p_now
        FROM earlier CROSS JOIN LATERAL (
            SELECT other.tenant_id, other.next_attempt_at FROM outbox other
            WHERE other.state = 'waiting' AND other.tenant_id > earlier.tenant_id
              AND other.tenant_id <= p_after
            ORDER BY other.tenant_id, other.next_attempt_at LIMIT 1
        ) next
    ), ring AS (
        SELECT tenant_id FROM (
            SELECT tenant_id FROM later WHERE is_due UNION ALL SELECT tenant_id FROM earlier WHERE is_due
        ) around LIMIT p_limit
    ), turns AS (
        SELECT due.place, row_number() OVER (PARTITION BY ring.tenant_id ORDER BY due.next_attempt_at, due.id) AS turn
        FROM ring CROSS JOIN LATERAL (
            SELECT waiting.ctid AS place, waiting.id, waiting.next_attempt_at FROM outbox waiting
            WHERE waiting.tenant_id = ring.tenant_id AND waiting.state = 'waiting' AND waiting.next_attempt_at <= p_now
            ORDER BY waiting.next_attempt_at, waiting.id
            LIMIT (SELECT 1 + 4 * p_limit / greatest(count(*), 1) FROM ring)
        ) due
    ), chosen AS (
        SELECT waiting.ctid AS place, turns.turn, waiting.lease_expires_at IS NOT NULL AS is_again,
            waiting.lease_expires_at IS NOT NULL AND waiting.attempts >= 8 AS is_given_up
        FROM turns JOIN outbox waiting ON waiting.ctid = turns.place
        WHERE waiting.state || '' = 'waiting' AND waiting.next_attempt_at <= p_now
        ORDER BY turns.turn, waiting.next_attempt_at, waiting.id LIMIT p_limit FOR UPDATE OF waiting SKIP LOCKED
    ), claimed AS (
        UPDATE outbox held SET
            state = CASE WHEN is_given_up THEN 'dead' ELSE 'waiting' END,
            attempts = CASE WHEN is_again THEN attempts ELSE attempts + 1 END,
            next_attempt_at = CASE WHEN is_given_up THEN p_now ELSE p_now + p_lease END,
            lease_expires_at = CASE WHEN is_given_up THEN NULL ELSE p_now + p_lease END,
            last_error = CASE WHEN is_given_up THEN 'LeaseExpired' ELSE last_error END
        FROM chosen
        WHERE held.ctid = chosen.place
        RETURNING held.id, held.tenant_id, held.state, chosen.is_again, chosen.turn
    )
    SELECT id, tenant_id, is_again FROM claimed WHERE state = 'waiting' ORDER BY is_again, turn, id
$$;

REVOKE ALL ON FUNCTION claim_jobs_v1, claim_outbox_v1 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_jobs_v1, claim_outbox_v1 TO memoryhub_app;
