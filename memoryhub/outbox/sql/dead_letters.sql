-- What the serving role may change of a dead letter and of a delivery, and how long ended work is kept.
GRANT UPDATE (state, told_to, lease_expires_at, reason, note) ON outbox TO memoryhub_app;
GRANT UPDATE (reason, note) ON processing_jobs TO memoryhub_app;

-- Delete what ended before an instant, at most `p_limit` rows of each kind: jobs that succeeded or were cancelled, and
-- rows that every consumer has. Dead and discarded ones stay: they say what became of an event. Across tenants; it
-- returns numbers only. Ids rise with time, so the oldest rows stand at one end of the primary key.
CREATE OR REPLACE FUNCTION prune_work_v1(p_before timestamptz, p_limit int)
RETURNS TABLE (jobs bigint, rows bigint) LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH old_jobs AS (
        DELETE FROM processing_jobs WHERE id IN (
            SELECT id FROM processing_jobs
            WHERE id < uuidv7(p_before - clock_timestamp()) AND state IN ('succeeded', 'cancelled')
              AND ended_at < p_before
            ORDER BY id LIMIT p_limit FOR UPDATE SKIP LOCKED)
        RETURNING id
    ), old_rows AS (
        DELETE FROM outbox WHERE id IN (
            SELECT id FROM outbox
            WHERE id < uuidv7(p_before - clock_timestamp()) AND state = 'delivered' AND delivered_at < p_before
            ORDER BY id LIMIT p_limit FOR UPDATE SKIP LOCKED)
        RETURNING id
    )
    SELECT (SELECT count(*) FROM old_jobs), (SELECT count(*) FROM old_rows)
$$;
REVOKE ALL ON FUNCTION prune_work_v1 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_work_v1 TO memoryhub_app;
