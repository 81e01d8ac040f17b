-- Revoke: under the scope's exclusive guard, the epoch first, then the barrier, then hide what it covers.
-- Deleting first and raising after would let a writer in between bring the memory back.
CREATE OR REPLACE FUNCTION raise_barrier_v1(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_tenant uuid := (p->>'tenant')::uuid;
    v_scope uuid := (p->>'scope')::uuid;
    v_target uuid := (p->>'target_id')::uuid;
    v_now timestamptz := (p->>'now')::timestamptz;
    v_epoch bigint;
    v_memories uuid[];
    v_bare uuid[];
    v_hidden jsonb;
    v_closed jsonb;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(v_scope::text, 0));
    -- What rests on memories follows in this transaction: that lock comes before any head.
    PERFORM pg_advisory_xact_lock(hashtextextended('memory_bases ' || v_tenant::text, 0));
    UPDATE scopes SET deletion_epoch = deletion_epoch + 1 WHERE tenant_id = v_tenant AND id = v_scope
    RETURNING deletion_epoch INTO v_epoch;
    INSERT INTO revocations (id, tenant_id, scope_id, target, target_id, target_key, mode, epoch, reason,
        requested_by_id, recorded_at, hits)
    VALUES ((p->>'id')::uuid, v_tenant, v_scope, p->>'target', v_target, p->>'target_key', p->>'mode', v_epoch,
        p->>'reason', (p->>'principal')::uuid, v_now, 0);

    -- Claims leave the sets they are in: those of a revoked source, or every claim of what is revoked whole.
    UPDATE memory_evidence claim SET withdrawn_by = (p->>'id')::uuid
    FROM memory_heads head
    WHERE claim.tenant_id = v_tenant AND claim.withdrawn_by IS NULL
      AND head.tenant_id = v_tenant AND head.id = claim.memory_id AND head.scope_id = v_scope
      AND CASE p->>'target'
          WHEN 'scope' THEN true
          WHEN 'subject' THEN head.subject_id = v_target
          WHEN 'memory' THEN head.id = v_target
          WHEN 'fact_key' THEN head.fact_key = p->>'target_key' AND (v_target IS NULL OR head.subject_id = v_target)
          ELSE claim.source_id = v_target
               -- What rests on memories alone has their roots, and follows them when they are folded anew.
               OR (v_target = ANY (claim.roots) AND NOT EXISTS (
                       SELECT FROM memory_bases basis
                       WHERE basis.tenant_id = v_tenant AND basis.candidate_id = claim.candidate_id
                         AND basis.carries))
               OR claim.candidate_id IN (SELECT candidate_id FROM candidate_evidence
                                         WHERE tenant_id = v_tenant AND evidence_id = v_target)
          END;
    UPDATE evidence SET availability = 'revoked'
    WHERE tenant_id = v_tenant AND availability = 'available' AND (id = v_target OR source_id = v_target)
      AND p->>'target' IN ('event', 'evidence', 'lineage');
    SELECT coalesce(array_agg(DISTINCT memory_id), '{}') INTO v_memories FROM memory_evidence
    WHERE tenant_id = v_tenant AND withdrawn_by = (p->>'id')::uuid;
    SELECT coalesce(array_agg(memory), '{}') INTO v_bare FROM unnest(v_memories) AS memory
    WHERE NOT EXISTS (SELECT FROM memory_evidence
                      WHERE tenant_id = v_tenant AND memory_id = memory AND withdrawn_by IS NULL);

    -- What was written from a withdrawn claim is hidden at every instant of both clocks, words and all, and so is a
    -- value that no live claim states any more.
    WITH hidden AS (
        UPDATE memory_versions held SET state = 'revoked'
        WHERE held.tenant_id = v_tenant AND held.memory_id = ANY (v_memories)
          AND held.state IN ('active', 'superseded', 'needs_review', 'expired')
          AND (held.candidate_id IN (
                  SELECT candidate_id FROM memory_evidence
                  WHERE tenant_id = v_tenant AND withdrawn_by = (p->>'id')::uuid)
               OR NOT EXISTS (
                  SELECT FROM memory_evidence claim
                  WHERE claim.tenant_id = v_tenant AND claim.memory_id = held.memory_id AND claim.withdrawn_by IS NULL
                    AND claim.value_digest IS NOT DISTINCT FROM held.value_digest))
        RETURNING held.id
    ) SELECT coalesce(jsonb_agg(id ORDER BY id), '[]') INTO v_hidden FROM hidden;

    -- A memory without any claim ends here; one that keeps some is folded anew by the use case.
    UPDATE memory_heads SET version = version + 1, has_open_conflict = false, modality = 'possible',
        confidence = 0, support = 0, opposition = 0, independent_evidence_count = 0, derived_at = v_now,
        deletion_epoch = v_epoch, last_recorded_at = greatest(v_now, last_recorded_at + interval '1 microsecond')
    WHERE tenant_id = v_tenant AND id = ANY (v_bare);
    WITH closed AS (
        UPDATE memory_versions held SET recorded_to = head.last_recorded_at
        FROM memory_heads head
        WHERE held.tenant_id = v_tenant AND held.memory_id = ANY (v_bare) AND held.recorded_to IS NULL
          AND head.tenant_id = v_tenant AND head.id = held.memory_id
        RETURNING held.id
    ) SELECT coalesce(jsonb_agg(id ORDER BY id), '[]') INTO v_closed FROM closed;
    UPDATE conflict_sets SET state = 'dissolved', closed_at = v_now
    WHERE tenant_id = v_tenant AND memory_id = ANY (v_bare) AND state = 'open';
    -- What waits for a person ends here, as a recorded decision; what nobody decided yet the barrier will refuse.
    WITH ended AS (
        UPDATE memory_candidates candidate SET status = 'rejected', reason = 'barred_by_revocation',
            decided_at = v_now
        WHERE candidate.tenant_id = v_tenant AND candidate.scope_id = v_scope
          AND (candidate.status = 'needs_confirmation'
               OR (candidate.status = 'pending' AND candidate.memory_id IS NOT NULL))
          AND (candidate.id IN (SELECT candidate_id FROM memory_evidence
                                WHERE tenant_id = v_tenant AND withdrawn_by = (p->>'id')::uuid)
               OR find_barrier_v1(v_tenant, v_scope, candidate.subject_id, candidate.memory_id,
                                  candidate.fact_key, ARRAY(
                                      SELECT candidate.source_event_id
                                      UNION SELECT unnest(ARRAY[link.evidence_id, root.root])
                                      FROM candidate_evidence link
                                      LEFT JOIN evidence_roots root
                                          ON root.tenant_id = v_tenant AND root.evidence_id = link.evidence_id
                                      WHERE link.tenant_id = v_tenant AND link.candidate_id = candidate.id),
                                  candidate.deletion_epoch) IS NOT NULL)
        RETURNING candidate.id, candidate.policy_version
    )
    INSERT INTO merge_decisions (id, tenant_id, candidate_id, scope_id, action, requires_person, reason,
        policy_version, decider_id, expected_version, resulting_version, deletion_epoch, inputs_digest, facts,
        effects, recorded_at)
    SELECT uuidv7(), v_tenant, ended.id, v_scope, 'REJECT', false, 'barred_by_revocation', ended.policy_version,
        (p->>'principal')::uuid, 0, 0, v_epoch, '', '{}', jsonb_build_object('statuses', jsonb_build_array(
            jsonb_build_object('id', ended.id, 'status', 'rejected', 'reason', 'barred_by_revocation'))), v_now
    FROM ended;
    DELETE FROM search_documents WHERE tenant_id = v_tenant AND memory_id = ANY (v_memories);
    UPDATE review_items SET state = 'withdrawn', decided_at = v_now, outcome = 'erasure_started'
    WHERE tenant_id = v_tenant AND state = 'open'
      -- A question about another source's candidate still waits for its answer.
      AND (memory_id = ANY (v_bare) AND kind <> 'confirmation' OR candidate_id IN (
              SELECT id FROM memory_candidates
              WHERE tenant_id = v_tenant AND scope_id = v_scope AND status = 'rejected'));
    INSERT INTO outbox (id, tenant_id, topic, key, version, attempts, next_attempt_at, created_at, last_error)
    SELECT uuidv7(), v_tenant, 'memory_revoked', memory, 0, 0, v_now, v_now, '' FROM unnest(v_memories) AS memory;
    -- Written down in the transaction of the barrier: whoever verifies the ledger finds here what it changed.
    UPDATE revocations SET effects = jsonb_build_object('mode', p->'mode', 'hides', v_hidden, 'closes', v_closed,
        'withdraws', (SELECT coalesce(jsonb_agg(id ORDER BY id), '[]') FROM memory_evidence
                      WHERE tenant_id = v_tenant AND withdrawn_by = (p->>'id')::uuid),
        'ends', (SELECT coalesce(jsonb_agg(jsonb_build_object('memory', id, 'version', version,
                                                              'recorded_at', last_recorded_at) ORDER BY id), '[]')
                 FROM memory_heads WHERE tenant_id = v_tenant AND id = ANY (v_bare)))
    WHERE tenant_id = v_tenant AND id = (p->>'id')::uuid;
    RETURN jsonb_build_object('revocation', p->>'id', 'epoch', v_epoch, 'hidden', jsonb_array_length(v_hidden),
                              'memories', to_jsonb(v_memories),
                              'to_fold', (SELECT coalesce(jsonb_agg(memory), '[]') FROM unnest(v_memories) AS memory
                                          WHERE memory <> ALL (v_bare)));
END $$;
