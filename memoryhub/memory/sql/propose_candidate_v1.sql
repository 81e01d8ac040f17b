-- Put a candidate beside its evidence, with the job that will decide on it, under the scope's guard. Its epoch is
-- that of its event: what was received before a revocation stays older than it, whenever it is proposed.
-- Proposed again it answers the first one, and whether that says the same: {"candidate", "status", "new", "same"}. A candidate whose own proposer replaces
-- it before it was decided is not touched here; each extraction of an event is one row.
CREATE OR REPLACE FUNCTION propose_candidate_v1(p jsonb, p_evidence jsonb, p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    v_tenant uuid := (p->>'tenant')::uuid;
    v_scope uuid := (p->>'scope')::uuid;
    v_epoch bigint := (p->>'deletion_epoch')::bigint;
    known record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(v_scope::text, 0));
    SELECT id, status, content_hash, stance, kind, memory_type, valid_from, valid_to INTO known FROM memory_candidates
    WHERE tenant_id = v_tenant AND source_event_id = (p->>'source_event')::uuid AND extractor = p->>'extractor'
      AND extractor_version = p->>'extractor_version' AND fact_key = p->>'fact_key'
      AND subject_id = (p->>'subject')::uuid AND conditions_digest = p->>'conditions_digest'
      AND statement = (p->>'statement')::smallint;
    IF FOUND THEN
        RETURN jsonb_build_object('candidate', known.id, 'status', known.status, 'new', false,
            -- What was erased has nothing left to compare with.
            'same', known.content_hash = ''
                    OR (known.content_hash, known.stance, known.kind, known.memory_type, known.valid_from)
                       = (p->>'content_hash', p->>'stance', p->>'kind', p->>'memory_type',
                          (p->>'valid_from')::timestamptz)
                       AND known.valid_to IS NOT DISTINCT FROM (p->>'valid_to')::timestamptz);
    END IF;
    PERFORM write_evidence_v1(v_tenant, p_evidence, p_now);
    IF NOT append_candidate_v1(p) THEN
        -- Another request proposed it between the look and here; its transaction is done, ours starts over.
        RAISE EXCEPTION 'proposed meanwhile' USING ERRCODE = 'unique_violation',
            CONSTRAINT = 'memory_candidates_are_extracted_once';
    END IF;
    INSERT INTO processing_jobs (id, tenant_id, kind, target_id, scope_id, extractor_version, policy_version,
        deletion_epoch, state, attempts, next_attempt_at, last_error, created_at)
    VALUES (uuidv7(), v_tenant, 'consolidate', (p->>'id')::uuid, v_scope, '', p->>'policy_version', v_epoch,
        'queued', 0, p_now, '', p_now);
    RETURN jsonb_build_object('candidate', p->>'id', 'status', 'pending', 'new', true, 'same', true);
END $$;
