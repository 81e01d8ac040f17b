-- What the serving role may change of a dead letter and of a delivery, and how long ended work is kept.
GRANT UPDATE (state, told_to, lease_expires_at, reason, note) ON outbox TO memoryhub_app;
GRANT UPDATE (reason, note) ON processing_jobs TO memoryhub_app;

-- Delete what ended before an instant, at most `p_limit` rows of each kind: jobs that succeeded or were cancelled, and
-- rows that every consumer has. Dead and discarded ones stay: they say what became of an event. Across tenants; it
-- returns numbers only. Ids rise with time, so the oldest rows stand at one end of the primary key. What is locked with
-- a limit stands in a CTE of its own: as a subquery it could be run again for each row, and pass the limit.
CREATE OR REPLACE FUNCTION prune_work_v1(p_before timestamptz, p_limit int)
RETURNS TABLE (jobs bigint, rows bigint) LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH old_jobs AS MATERIALIZED (
        SELECT id FROM processing_jobs
        WHERE id < uuidv7(p_before - clock_timestamp()) AND state IN ('succeeded', 'cancelled') AND ended_at < p_before
        ORDER BY id LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), old_rows AS MATERIALIZED (
        SELECT id FROM outbox
        WHERE id < uuidv7(p_before - clock_timestamp()) AND state = 'delivered' AND delivered_at < p_before
        ORDER BY id LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone_jobs AS (
        DELETE FROM processing_jobs job USING old_jobs WHERE job.id = old_jobs.id RETURNING job.id
    ), gone_rows AS (
        DELETE FROM outbox told USING old_rows WHERE told.id = old_rows.id RETURNING told.id
    )
    SELECT (SELECT count(*) FROM gone_jobs), (SELECT count(*) FROM gone_rows)
$$;
REVOKE ALL ON FUNCTION prune_work_v1 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_work_v1 TO memoryhub_app;
