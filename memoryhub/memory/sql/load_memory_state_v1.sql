-- Everything a merge decision is made from, in one round trip: what the key is declared to be, the scope and its
-- epoch, the head, the claims and rulings that can still matter, and the barrier if one stands.
-- A newest claim is decided from the tail: the newest part and what supports or opposes it. An older claim, or
-- an open conflict, gets the whole set.
CREATE OR REPLACE FUNCTION load_memory_state_v1(p jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_tenant uuid := (p->>'tenant')::uuid;
    v_scope uuid := (p->>'scope')::uuid;
    v_subject uuid := (p->>'subject')::uuid;
    v_valid_from timestamptz := (p->>'valid_from')::timestamptz;
    head memory_heads%ROWTYPE;
    newest memory_versions%ROWTYPE;
    tail_from timestamptz;
    answer jsonb;
BEGIN
    IF p ? 'memory' THEN
        SELECT * INTO head FROM memory_heads WHERE tenant_id = v_tenant AND id = (p->>'memory')::uuid;
    ELSE
        SELECT * INTO head FROM memory_heads
        WHERE tenant_id = v_tenant AND scope_id = v_scope AND subject_id = v_subject
          AND memory_type = p->>'memory_type' AND fact_key = p->>'fact_key'
          AND conditions_digest = p->>'conditions_digest'
          -- Where several values are true at once the value is a part of the identity.
          AND value_key = CASE WHEN EXISTS (
                  SELECT FROM find_predicate_v1(v_tenant, p->>'fact_key') WHERE cardinality = 'many'
              ) THEN coalesce(p->>'value_digest', '') ELSE '' END;
    END IF;
    answer := jsonb_build_object(
        'predicate', (SELECT jsonb_build_object('cardinality', cardinality, 'sensitive', sensitive,
                'requires_confirmation', requires_confirmation, 'authority_group', authority_group,
                'yields_only_to_validation', yields_only_to_validation)
            FROM find_predicate_v1(v_tenant, coalesce(p->>'fact_key', head.fact_key))),
        'epoch', (SELECT deletion_epoch FROM scopes WHERE tenant_id = v_tenant AND id = v_scope),
        'may_propose', has_scope_right_v1((p->>'principal')::uuid, v_scope, p->>'right'),
        'barrier', find_barrier_v1(v_tenant, v_scope, coalesce(v_subject, head.subject_id), head.id,
                                   coalesce(p->>'fact_key', head.fact_key),
                                   ARRAY(SELECT jsonb_array_elements_text(p->'sources')::uuid),
                                   (p->>'epoch')::bigint));
    IF head.id IS NULL THEN
        RETURN answer;
    END IF;
    answer := answer || jsonb_build_object('head', jsonb_build_object(
        'id', head.id, 'version', head.version, 'has_open_conflict', head.has_open_conflict,
        'last_recorded_at', head.last_recorded_at, 'memory_type', head.memory_type));
    IF p->>'session' <> '' AND EXISTS (
        SELECT FROM retrieval_runs run
        JOIN retrieval_items item ON item.tenant_id = run.tenant_id AND item.run_id = run.id
        WHERE run.tenant_id = v_tenant AND run.session_key = p->>'session'
          AND run.at <= (p->>'received_at')::timestamptz AND item.memory_id = head.id AND item.outcome <> 'excluded'
    ) THEN
        -- An earlier answer of the session held this memory: the claim repeats those that say the same. Their roots
        -- are bounded; one is enough to belong to a lineage, and two to join none.
        answer := answer || jsonb_build_object('echo', (
            SELECT jsonb_build_object('weight', min(held.weight), 'observed_at', min(held.observed_at), 'roots', (
                SELECT jsonb_agg(root) FROM (
                    SELECT DISTINCT root FROM memory_evidence of_it, unnest(of_it.roots) AS root
                    WHERE of_it.tenant_id = v_tenant AND of_it.memory_id = head.id AND of_it.withdrawn_by IS NULL
                      AND of_it.stance = 'supports' AND of_it.value_digest IS NOT DISTINCT FROM p->>'value_digest'
                    ORDER BY root LIMIT 100) roots))
            FROM memory_evidence held
            WHERE held.tenant_id = v_tenant AND held.memory_id = head.id AND held.withdrawn_by IS NULL
              AND held.stance = 'supports' AND held.value_digest IS NOT DISTINCT FROM p->>'value_digest'
            HAVING count(*) > 0));
    END IF;
    IF NOT head.has_open_conflict AND NOT coalesce((p->>'whole')::boolean, false) THEN
        -- The newest part that is held now; the claim must begin after it for the tail to be enough.
        SELECT * INTO newest FROM memory_versions
        WHERE tenant_id = v_tenant AND memory_id = head.id AND recorded_to IS NULL
        ORDER BY valid_from DESC LIMIT 1;
        -- Newer than every claim, and no ruling places any: nothing earlier can move.
        IF newest.valid_to IS NULL AND v_valid_from > newest.valid_from
           AND newest.valid_from <= (p->>'now')::timestamptz AND NOT EXISTS (
            SELECT FROM memory_evidence WHERE tenant_id = v_tenant AND memory_id = head.id
              AND withdrawn_by IS NULL AND valid_from >= v_valid_from
        ) AND NOT EXISTS (
            SELECT FROM rulings WHERE tenant_id = v_tenant AND memory_id = head.id
        ) THEN
            tail_from := newest.valid_from;
        END IF;
    END IF;
    RETURN answer || jsonb_build_object(
        'tail_from', tail_from,
        'parts', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'id', id, 'version', version, 'part', part, 'value_digest', value_digest,
                'valid_from', valid_from, 'valid_to', valid_to, 'opener', opener, 'author', author_id,
                'author_rank', author_rank, 'author_groups', author_groups, 'since', since,
                'replaced_digest', replaced_digest, 'validated', validation_method <> '',
                'candidate', candidate_id, 'state', state) ORDER BY valid_from), '[]')
            FROM memory_versions
            WHERE tenant_id = v_tenant AND memory_id = head.id AND recorded_to IS NULL
              AND (tail_from IS NULL OR valid_from >= tail_from)),
        'claims', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'kind', source_kind, 'source', source_id, 'statement', statement, 'candidate', candidate_id,
                'stance', stance, 'value_digest', value_digest, 'valid_from', valid_from, 'valid_to', valid_to,
                'effective', effective, 'validated', validated, 'author', author_id, 'author_rank', author_rank,
                'author_groups', author_groups, 'roots', roots, 'weight', weight, 'observed_at', observed_at,
                'source_seq', source_seq, 'order_digest', order_digest, 'trust', (
                    SELECT made.trust FROM memory_candidates made
                    WHERE made.tenant_id = v_tenant AND made.id = memory_evidence.candidate_id))), '[]')
            FROM memory_evidence
            WHERE tenant_id = v_tenant AND memory_id = head.id AND withdrawn_by IS NULL
              -- What the head was last derived from: claims that came after it added nothing.
              -- By version and not by time: the clock of a caller may be behind.
              AND (NOT coalesce((p->>'as_derived')::boolean, false) OR EXISTS (
                  SELECT FROM merge_decisions made
                  WHERE made.tenant_id = v_tenant AND made.candidate_id = memory_evidence.candidate_id
                    AND made.memory_id = head.id AND NOT made.requires_person
                    AND made.expected_version < head.version))
              AND (tail_from IS NULL OR id IN (
                  -- What supports the newest part, what opposes, its opener, and the candidate's own source: each
                  -- found by an index, so that a newest claim costs the same however long the history is.
                  SELECT id FROM memory_evidence
                  WHERE tenant_id = v_tenant AND memory_id = head.id AND valid_from >= newest.since
                    AND value_digest IS NOT DISTINCT FROM newest.value_digest
                  UNION ALL
                  SELECT id FROM memory_evidence
                  WHERE tenant_id = v_tenant AND memory_id = head.id AND stance <> 'supports'
                  UNION ALL
                  SELECT id FROM memory_evidence
                  WHERE tenant_id = v_tenant AND memory_id = head.id
                    AND source_kind = split_part(newest.opener, ':', 1)
                    AND source_id = split_part(newest.opener, ':', 2)::uuid
                    AND statement = split_part(newest.opener, ':', 3)::int
                  UNION ALL
                  SELECT id FROM memory_evidence
                  WHERE tenant_id = v_tenant AND memory_id = head.id AND source_kind = p->>'source_kind'
                    AND source_id = (p->>'source_id')::uuid AND statement = (p->>'statement')::int))),
        -- What claims rest on or cite: of each claim the rows that count, which were laid together.
        'bases', (SELECT jsonb_agg(jsonb_build_object(
                'candidate', candidate_id, 'lower', lower_id, 'version', lower_version, 'value_digest', value_digest,
                'weight', weight, 'observed_at', observed_at, 'roots', roots, 'principals', principals,
                'trust', trust, 'lineages', lineages, 'carries', carries, 'share', share, 'claim_weight', claim_weight)
                ORDER BY candidate_id, lower_id)
            FROM memory_bases basis
            WHERE basis.tenant_id = v_tenant AND basis.memory_id = head.id
              AND basis.sequence = (SELECT max(newer.sequence) FROM memory_bases newer
                                    WHERE newer.tenant_id = v_tenant
                                      AND newer.candidate_id = basis.candidate_id)),
        'rulings', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'key', id, 'settles', settles, 'winner', winner, 'effective_from', effective_from,
                'sequence', sequence, 'keeps_conflict', keeps_conflict) ORDER BY sequence), '[]')
            FROM rulings WHERE tenant_id = v_tenant AND memory_id = head.id),
        'conflict', (SELECT jsonb_build_object('id', id, 'reason', reason, 'standing', standing,
                'opened_from', opened_from, 'kept_at', kept_at, 'members', (
                    SELECT coalesce(jsonb_agg(jsonb_build_object('source', member.source,
                                                                 'candidate', member.candidate_id)), '[]')
                    FROM conflict_members member WHERE member.tenant_id = v_tenant
                      AND member.conflict_set_id = conflict_sets.id AND NOT member.is_standing
                      AND member.left_at IS NULL))
            FROM conflict_sets WHERE tenant_id = v_tenant AND memory_id = head.id AND state = 'open'));
END $$;
