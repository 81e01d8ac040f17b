-- Which answers may what is said in a session echo? What an agent says for itself after a recall may: the server says
-- so, whether or not the agent does. The first run is the root of all of it, so that one session is one lineage.
CREATE OR REPLACE FUNCTION find_runs_of_session_v1(p_tenant uuid, p_session text, p_actor uuid, p_sender uuid)
RETURNS TABLE (first_run uuid, last_run uuid) LANGUAGE sql STABLE AS $$
    -- Both ends of an index: a session with many answers costs what one with two does.
    SELECT (SELECT run.id FROM retrieval_runs run WHERE run.tenant_id = p_tenant AND run.session_key = p_session
            ORDER BY run.at, run.id LIMIT 1),
        (SELECT run.id FROM retrieval_runs run WHERE run.tenant_id = p_tenant AND run.session_key = p_session
         ORDER BY run.at DESC, run.id DESC LIMIT 1)
    WHERE p_session <> '' AND p_actor = p_sender
      AND EXISTS (SELECT FROM principals WHERE id = p_actor AND kind <> 'human')
$$;

-- Append records: envelope and body, each once. The caller holds the scope's guard.
-- Takes a list of events of one scope (or one event), in the order of their key digests so that overlapping
-- batches cannot wait for each other in a circle. Returns the ids that were new. A record that names its root was
-- looked at before, when the answer to it was decided; for the others the runs of their session are found here.
CREATE OR REPLACE FUNCTION append_records_v1(p jsonb) RETURNS uuid[] LANGUAGE sql AS $$
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(p) AS e (id uuid, tenant uuid, event_key_digest text, scope uuid,
            actor uuid, sender uuid, session_key text, task_key text, source_type text, trust text,
            occurred_at timestamptz, source_seq bigint, ingested_at timestamptz, content_ref text,
            content_digest text, redactions jsonb, retention_class text, deletion_epoch bigint, event_key text,
            payload jsonb, salt text, without_body boolean, derived_from_run uuid, root uuid)
    ), envelope AS (
        INSERT INTO source_events (id, tenant_id, event_key_digest, scope_id, actor_id, sender_id, session_key,
            task_key, source_type, trust, occurred_at, source_seq, ingested_at, content_ref, content_digest,
            redactions, retention_class, deletion_epoch, derived_from_run, root)
        SELECT e.id, e.tenant, e.event_key_digest, e.scope, e.actor, e.sender, e.session_key, e.task_key,
            e.source_type, e.trust, e.occurred_at, e.source_seq, e.ingested_at, e.content_ref, e.content_digest,
            e.redactions, e.retention_class, e.deletion_epoch,
            CASE WHEN e.root IS NULL THEN told.last_run ELSE e.derived_from_run END,
            coalesce(e.root, told.first_run, e.id)
        FROM given e LEFT JOIN LATERAL find_runs_of_session_v1(e.tenant, e.session_key, e.actor, e.sender) told
            ON e.root IS NULL
        ORDER BY e.event_key_digest
        ON CONFLICT ON CONSTRAINT source_events_are_received_once DO NOTHING
        RETURNING id
    ), body AS (
        INSERT INTO source_event_bodies (event_id, tenant_id, event_key, payload, salt, erased_at, erased_by)
        SELECT e.id, e.tenant, e.event_key, e.payload, decode(e.salt, 'hex'), NULL, NULL
        FROM given e JOIN envelope USING (id)
        WHERE NOT coalesce(e.without_body, false)
        RETURNING event_id
    )
    SELECT coalesce(array_agg(id), '{}') FROM envelope
$$;

-- Append one record or fail: for an explicit write, whose caller has looked for a replay before.
CREATE OR REPLACE FUNCTION append_record_v1(p jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(append_records_v1(jsonb_build_array(p))) = 0 THEN
        RAISE EXCEPTION 'the event was received meanwhile'
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'source_events_are_received_once';
    END IF;
END $$;

-- Write evidence, its quote, and what it goes back to. An item either names its roots, or in "derived_from" the ids
-- of the evidence it was derived from, which was there before or stands earlier in the list: then the edges are drawn,
-- and its roots are all of theirs. Such an item may name the same roots, and no others.
CREATE OR REPLACE FUNCTION write_evidence_v1(p_tenant uuid, p jsonb, p_recorded timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    item record;
    v_roots uuid[];
BEGIN
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(p) AS e (id uuid, evidence_key text, kind text, source_kind text,
            source_id uuid, scope uuid, event uuid, span_start int, span_end int, "position" text, digest text,
            observed_at timestamptz, quote text, salt text, roots uuid[], derived_from uuid[], document jsonb)
    ), written AS (
        INSERT INTO evidence (id, tenant_id, evidence_key, kind, source_kind, source_id, scope_id, event_id,
            span_start, span_end, "position", digest, observed_at, recorded_at, availability)
        SELECT e.id, p_tenant, e.evidence_key, e.kind, e.source_kind, e.source_id, e.scope, e.event, e.span_start,
            e.span_end, e."position", e.digest, e.observed_at, p_recorded, 'available'
        FROM given e RETURNING id
    ), body AS (
        INSERT INTO evidence_bodies (evidence_id, tenant_id, quote, salt, erased_at, erased_by)
        SELECT e.id, p_tenant, e.quote, decode(e.salt, 'hex'), NULL, NULL FROM given e JOIN written USING (id)
        WHERE e.quote IS NOT NULL
    ), documents AS (
        INSERT INTO evidence_documents (evidence_id, tenant_id, payload)
        SELECT e.id, p_tenant, e.document FROM given e JOIN written USING (id)
        WHERE jsonb_typeof(e.document) = 'object'
    )
    INSERT INTO evidence_roots (id, tenant_id, evidence_id, root)
    SELECT uuidv7(), p_tenant, e.id, root FROM given e JOIN written USING (id), unnest(e.roots) AS root
    WHERE coalesce(cardinality(e.derived_from), 0) = 0;

    FOR item IN
        SELECT e.id, e.roots, e.derived_from
        FROM jsonb_array_elements(p) WITH ORDINALITY AS one (said, place),
            jsonb_to_record(one.said) AS e (id uuid, roots uuid[], derived_from uuid[])
        WHERE cardinality(e.derived_from) > 0 ORDER BY one.place
    LOOP
        INSERT INTO evidence_edges (id, tenant_id, child_id, parent_id)
        SELECT uuidv7(), p_tenant, item.id, parent
        FROM (SELECT DISTINCT unnest(item.derived_from) AS parent ORDER BY 1) parents;
        v_roots := ARRAY(SELECT DISTINCT root FROM evidence_roots
                         WHERE tenant_id = p_tenant AND evidence_id = ANY (item.derived_from) ORDER BY 1);
        IF cardinality(item.roots) > 0 AND NOT (item.roots <@ v_roots AND v_roots <@ item.roots) THEN
            RAISE EXCEPTION 'evidence goes back to what it was derived from and to nothing else'
                USING ERRCODE = 'restrict_violation', CONSTRAINT = 'evidence_roots_follow_the_edges',
                    TABLE = 'evidence_roots';
        END IF;
        INSERT INTO evidence_roots (id, tenant_id, evidence_id, root)
        SELECT uuidv7(), p_tenant, item.id, root FROM unnest(v_roots) AS root;
    END LOOP;
END $$;
