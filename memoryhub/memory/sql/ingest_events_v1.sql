-- Receive a batch of events: envelopes and bodies once, one job for each extractor, all under the scopes' guards.
-- p: {"tenant", "now", "policy_version", "events": [record as append_records_v1 takes it, "extractors": [text]]}
-- Answers one row an event: its id, and
--   new        it was received now
--   known      it was received before: `content_digest` and `salt` tell whether it says the same
--   barred     a barrier stands in front of it; a new one left an envelope without a body, and a REJECT
CREATE OR REPLACE FUNCTION ingest_events_v1(p jsonb)
RETURNS TABLE (event_key_digest text, id uuid, outcome text, content_digest text, salt text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_tenant uuid := (p->>'tenant')::uuid;
    v_now timestamptz := (p->>'now')::timestamptz;
    v_scope uuid;
    v_new uuid[];
    v_events jsonb;
BEGIN
    -- Several scopes are locked in sorted order.
    FOR v_scope IN SELECT DISTINCT (e->>'scope')::uuid FROM jsonb_array_elements(p->'events') AS e ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(v_scope::text, 0));
    END LOOP;
    -- Epoch and barriers as they are under the guard.
    SELECT coalesce(jsonb_agg(e || jsonb_build_object('deletion_epoch', scope.deletion_epoch, 'without_body',
               find_barrier_v1(v_tenant, scope.id, NULL, NULL, NULL, ARRAY[known.id],
                               coalesce(known.deletion_epoch, scope.deletion_epoch))
               IS NOT NULL)), '[]')
    INTO v_events
    FROM jsonb_array_elements(p->'events') AS e
    JOIN scopes scope ON scope.tenant_id = v_tenant AND scope.id = (e->>'scope')::uuid
    LEFT JOIN source_events known ON known.tenant_id = v_tenant
        AND known.event_key_digest = e->>'event_key_digest';

    v_new := append_records_v1(v_events);

    INSERT INTO processing_jobs (id, tenant_id, kind, target_id, scope_id, extractor_version, policy_version,
        deletion_epoch, state, attempts, next_attempt_at, last_error, created_at)
    SELECT uuidv7(), v_tenant, 'extract', (e->>'id')::uuid, (e->>'scope')::uuid, extractor, p->>'policy_version',
        (e->>'deletion_epoch')::bigint, 'queued', 0, v_now, '', v_now
    FROM jsonb_array_elements(v_events) AS e, jsonb_array_elements_text(e->'extractors') AS extractor
    WHERE (e->>'id')::uuid = ANY (v_new) AND NOT (e->>'without_body')::boolean
    ON CONFLICT ON CONSTRAINT processing_jobs_are_done_once DO NOTHING;

    INSERT INTO merge_decisions (id, tenant_id, source_event_id, scope_id, action, requires_person, reason,
        policy_version, expected_version, resulting_version, deletion_epoch, inputs_digest, facts, recorded_at)
    SELECT uuidv7(), v_tenant, (e->>'id')::uuid, (e->>'scope')::uuid, 'REJECT', false, 'barred_by_revocation',
        p->>'policy_version', 0, 0, (e->>'deletion_epoch')::bigint, '', '{}', v_now
    FROM jsonb_array_elements(v_events) AS e
    WHERE (e->>'id')::uuid = ANY (v_new) AND (e->>'without_body')::boolean;
    UPDATE revocations SET hits = hits + hit.number FROM (
        SELECT find_barrier_v1(v_tenant, (e->>'scope')::uuid, NULL, NULL, NULL, ARRAY[known.id],
                               coalesce(known.deletion_epoch, (e->>'deletion_epoch')::bigint)) AS barrier, count(*) AS number
        FROM jsonb_array_elements(v_events) AS e
        LEFT JOIN source_events known ON known.tenant_id = v_tenant
            AND known.event_key_digest = e->>'event_key_digest'
        WHERE (e->>'without_body')::boolean GROUP BY 1
    ) hit WHERE revocations.tenant_id = v_tenant AND revocations.id = hit.barrier;

    RETURN QUERY
    SELECT record.event_key_digest::text, record.id,
        CASE WHEN (e->>'without_body')::boolean THEN 'barred'
             WHEN record.id = ANY (v_new) THEN 'new' ELSE 'known' END,
        record.content_digest::text, encode(body.salt, 'hex')
    FROM jsonb_array_elements(v_events) AS e
    JOIN source_events record ON record.tenant_id = v_tenant AND record.event_key_digest = e->>'event_key_digest'
    LEFT JOIN source_event_bodies body ON body.event_id = record.id;
END $$;
