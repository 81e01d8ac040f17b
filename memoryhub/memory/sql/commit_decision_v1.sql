-- Commit one decision: everything it changes, or nothing. Called inside the use case's transaction.
--
-- A function and not one statement: each statement below sees what was committed while the guard was waited for.
-- Inside one statement the snapshot would be older than the wait, and a revoked memory could come back.
--
-- Returns {"outcome": "committed", memory, version, recorded_at, decision} or {"outcome": <refusal>} with
-- nothing written:
--   epoch_moved      the scope's epoch is not the one the work was begun under (current epoch in "epoch")
--   barred           a barrier stands in front of the source, subject, key or memory ("barrier")
--   not_authorised   the right was taken away meanwhile
--   stale_head       another version was committed meanwhile ("version")
--   lower_moved      a memory that it rests on is not at the version that was read
--   item_closed      the review item was decided meanwhile ("decided_by", "decided_at", "outcome_of")
CREATE OR REPLACE FUNCTION commit_decision_v1(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_tenant uuid := (p->>'tenant')::uuid;
    v_scope uuid := (p->>'scope')::uuid;
    v_memory uuid := (p#>>'{memory,id}')::uuid;
    v_expected int := (p->>'expected_version')::int;
    v_now timestamptz := (p->>'now')::timestamptz;
    v_recorded timestamptz;
    v_version int;
    v_changes boolean := coalesce((p->>'changes_head')::boolean, false);
    v_epoch bigint;
    v_barrier uuid;
    v_touched uuid;
    v_decided timestamptz;
    v_set uuid;
    v_rows int;
    v_item record;
    v_reviewed uuid[];
BEGIN
    -- (a) The scope's guard, shared. A deleter takes it exclusively, raises the epoch first and deletes after.
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(v_scope::text, 0));

    -- (b) Epoch, barriers and right, as they are now.
    SELECT deletion_epoch INTO v_epoch FROM scopes WHERE tenant_id = v_tenant AND id = v_scope;
    v_barrier := find_barrier_v1(v_tenant, v_scope, (p#>>'{barrier_facts,subject}')::uuid, v_memory,
                                 p#>>'{barrier_facts,fact_key}',
                                 ARRAY(SELECT jsonb_array_elements_text(p#>'{barrier_facts,sources}')::uuid),
                                 (p->>'epoch')::bigint);
    IF v_barrier IS NOT NULL AND NOT coalesce((p->>'records_barrier')::boolean, false) THEN
        RETURN jsonb_build_object('outcome', 'barred', 'barrier', v_barrier);
    END IF;
    IF v_epoch <> (p->>'epoch')::bigint AND v_barrier IS NULL THEN
        RETURN jsonb_build_object('outcome', 'epoch_moved', 'epoch', v_epoch);
    END IF;
    IF p ? 'right' AND NOT has_scope_right_v1((p->>'principal')::uuid, v_scope, p->>'right') THEN
        RETURN jsonb_build_object('outcome', 'not_authorised');
    END IF;
    IF p ? 'bases' OR p ? 'lowers' THEN
        -- What memories rest on is changed by one at a time in a tenant, and this lock comes before that of any head.
        PERFORM pg_advisory_xact_lock(hashtextextended('memory_bases ' || v_tenant::text, 0));
    END IF;
    IF p ? 'lowers' THEN
        -- What it rests on stays as it was read until this is committed: whoever moves it afterwards, tells this one.
        PERFORM FROM memory_heads
        WHERE tenant_id = v_tenant AND id IN (
            SELECT seen.id FROM jsonb_to_recordset(p->'lowers') AS seen (id uuid))
        ORDER BY id FOR SHARE;
        IF EXISTS (
            SELECT FROM jsonb_to_recordset(p->'lowers') AS seen (id uuid, version int)
            JOIN memory_heads head ON head.tenant_id = v_tenant AND head.id = seen.id
            WHERE head.version <> seen.version
        ) THEN
            RETURN jsonb_build_object('outcome', 'lower_moved');
        END IF;
    END IF;
    IF p ? 'closes_item' THEN
        -- The head before the item, as everybody who changes a head and then what waits for a person.
        PERFORM FROM memory_heads WHERE tenant_id = v_tenant AND id = v_memory FOR NO KEY UPDATE;
        SELECT review.state, review.decided_at, review.outcome, review.decided_by_id INTO v_item
        FROM review_items review
        WHERE review.tenant_id = v_tenant AND review.id = (p#>>'{closes_item,id}')::uuid FOR UPDATE;
        IF v_item.state <> 'open' THEN
            RETURN jsonb_build_object('outcome', 'item_closed', 'decided_by', v_item.decided_by_id,
                                      'decided_at', v_item.decided_at, 'outcome_of', v_item.outcome);
        END IF;
    END IF;

    -- (c) Compare and set. A new head begins at version 1; two writers of one new key meet at its unique key.
    IF NOT v_changes THEN
        v_version := v_expected;
        v_recorded := v_now;
        IF v_expected > 0 THEN
            -- A claim that adds nothing is recorded after the belief it does not move.
            SELECT version, greatest(v_now, last_recorded_at + interval '1 microsecond')
            INTO v_version, v_recorded FROM memory_heads
            WHERE tenant_id = v_tenant AND id = v_memory FOR SHARE;
            IF v_version <> v_expected AND p->>'action' <> 'REJECT' THEN
                RETURN jsonb_build_object('outcome', 'stale_head', 'version', v_version);
            END IF;
            v_version := v_expected;
        END IF;
    ELSIF v_expected = 0 THEN
        v_recorded := v_now;
        v_version := 1;
        INSERT INTO memory_heads (id, tenant_id, scope_id, subject_id, memory_type, fact_key, conditions,
            conditions_digest, value_key, version, has_open_conflict, modality, confidence, support, opposition,
            independent_evidence_count, derived_at, authority, deletion_epoch, last_recorded_at, created_at)
        SELECT v_memory, v_tenant, v_scope, (m->>'subject')::uuid, m->>'memory_type', m->>'fact_key',
            m->'conditions', m->>'conditions_digest', m->>'value_key', 1, (b->>'has_open_conflict')::boolean,
            b->>'modality', (b->>'confidence')::float8, (b->>'support')::float8, (b->>'opposition')::float8,
            (b->>'independent')::int, (b->>'derived_at')::timestamptz, 'database', v_epoch, v_now, v_now
        FROM (SELECT p->'memory' AS m, p->'belief' AS b) given
        ON CONFLICT ON CONSTRAINT memory_heads_hold_one_head_a_key DO NOTHING;
        IF NOT FOUND THEN
            RETURN jsonb_build_object('outcome', 'stale_head');
        END IF;
    ELSE
        UPDATE memory_heads SET version = version + 1,
            has_open_conflict = (p#>>'{belief,has_open_conflict}')::boolean,
            modality = p#>>'{belief,modality}', confidence = (p#>>'{belief,confidence}')::float8,
            support = (p#>>'{belief,support}')::float8, opposition = (p#>>'{belief,opposition}')::float8,
            independent_evidence_count = (p#>>'{belief,independent}')::int,
            derived_at = (p#>>'{belief,derived_at}')::timestamptz, deletion_epoch = v_epoch,
            last_recorded_at = greatest(v_now, last_recorded_at + interval '1 microsecond')
        WHERE tenant_id = v_tenant AND id = v_memory AND version = v_expected
        RETURNING version, last_recorded_at INTO v_version, v_recorded;
        IF NOT FOUND THEN
            RETURN jsonb_build_object('outcome', 'stale_head', 'version',
                (SELECT version FROM memory_heads WHERE tenant_id = v_tenant AND id = v_memory));
        END IF;
    END IF;

    v_touched := CASE WHEN v_expected > 0 OR v_changes THEN v_memory END;
    v_decided := CASE WHEN p->>'status' IN ('accepted', 'rejected') THEN v_recorded END;

    -- (d) What came with an explicit write: the event, its evidence, the candidate.
    IF p ? 'event' THEN
        PERFORM append_record_v1(p->'event');
    END IF;
    IF p ? 'evidence' THEN
        PERFORM write_evidence_v1(v_tenant, p->'evidence', v_recorded);
    END IF;
    IF p ? 'candidate' THEN
        PERFORM append_candidate_v1(p->'candidate', v_touched, p->>'status', p->>'reason', v_decided);
    END IF;

    IF p ? 'parts' THEN
        -- What is under review stays so in whatever says the same there, unless the decision says otherwise.
        v_reviewed := ARRAY(
            SELECT n.id FROM jsonb_to_recordset(p->'parts')
                AS n (id uuid, candidate uuid, state text, valid_from timestamptz, valid_to timestamptz)
            WHERE coalesce(n.state = 'needs_review', EXISTS (
                SELECT FROM memory_versions held
                JOIN memory_candidates made ON made.tenant_id = v_tenant AND made.id = n.candidate
                WHERE held.tenant_id = v_tenant AND held.memory_id = v_memory AND held.recorded_to IS NULL
                  AND held.state = 'needs_review' AND held.value_digest IS NOT DISTINCT FROM made.value_digest
                  AND (n.valid_to IS NULL OR held.valid_from < n.valid_to)
                  AND (held.valid_to IS NULL OR held.valid_to > n.valid_from))));
    END IF;
    IF v_barrier IS NOT NULL THEN
        UPDATE revocations SET hits = hits + 1 WHERE tenant_id = v_tenant AND id = v_barrier;
    END IF;
    INSERT INTO merge_decisions (id, tenant_id, candidate_id, memory_id, scope_id, action, requires_person, reason,
        verb, verb_reason, policy_version, decider_id, expected_version, resulting_version, deletion_epoch,
        inputs_digest, facts, effects, recorded_at)
    VALUES ((p#>>'{decision,id}')::uuid, v_tenant, (p->>'candidate_id')::uuid,
        v_touched, v_scope, p->>'action',
        coalesce((p->>'requires_person')::boolean, false), p->>'reason',
        coalesce(p->>'verb', ''), coalesce(p->>'verb_reason', ''), p->>'policy_version',
        (p->>'decider')::uuid, v_expected, v_version, v_epoch, p#>>'{decision,inputs_digest}',
        p#>'{decision,facts}',
        -- What the decision changes in rows that may change: whoever verifies the ledger finds it here.
        jsonb_strip_nulls(jsonb_build_object(
            'reviews', CASE WHEN v_reviewed <> '{}' THEN to_jsonb(v_reviewed) END,
            'closes', (SELECT jsonb_agg(gone->'id') FROM jsonb_array_elements(p->'close') AS gone),
            'statuses', CASE WHEN p ? 'status' THEN jsonb_build_array(jsonb_build_object(
                'id', p->>'candidate_id', 'status', p->>'status',
                'reason', CASE WHEN p ? 'candidate' THEN p->>'reason'
                          ELSE coalesce(p->>'status_reason', p->>'reason') END)) ELSE '[]' END
                || coalesce(p->'other_candidates', '[]'),
            'dismisses', p->'dismissed', 'withdraws', p->'withdraws',
            'conflict', p->'conflict')),
        v_recorded);

    IF p ? 'status' AND NOT p ? 'candidate' THEN
        -- What was accepted stays so while a late claim only contests it; a ruling against it ends it.
        UPDATE memory_candidates SET status = p->>'status', reason = coalesce(p->>'status_reason', p->>'reason'),
            memory_id = coalesce(v_touched, memory_id), decided_at = v_decided
        WHERE tenant_id = v_tenant AND id = (p->>'candidate_id')::uuid
          AND (status IN ('pending', 'needs_confirmation')
               OR (status = 'accepted' AND p->>'status' = 'rejected'));
    END IF;
    IF p ? 'other_candidates' THEN
        UPDATE memory_candidates candidate SET status = other.status, reason = other.reason,
            decided_at = v_recorded
        FROM jsonb_to_recordset(p->'other_candidates') AS other (id uuid, status text, reason text)
        WHERE candidate.tenant_id = v_tenant AND candidate.id = other.id
          AND (candidate.status IN ('pending', 'needs_confirmation')
               OR (candidate.status = 'accepted' AND other.status = 'rejected'));
    END IF;

    -- (e) The set of claims, and the ruling if a person decided.
    IF p ? 'claim' THEN
        INSERT INTO memory_evidence (id, tenant_id, memory_id, source_kind, source_id, statement, candidate_id,
            stance, value_digest, valid_from, valid_to, effective, validated, author_id, author_rank,
            author_groups, roots, weight, observed_at, source_seq, order_digest, recorded_at)
        SELECT c.id, v_tenant, v_memory, c.kind, c.source, c.statement, (p->>'candidate_id')::uuid, c.stance,
            c.value_digest, c.valid_from, c.valid_to, c.effective, c.validated, c.author, c.author_rank,
            c.author_groups, c.roots, c.weight, c.observed_at, c.source_seq, c.order_digest, v_recorded
        FROM jsonb_to_record(p->'claim') AS c (id uuid, kind text, source uuid, statement smallint, stance text,
            value_digest text, valid_from timestamptz, valid_to timestamptz, effective boolean, validated boolean,
            author uuid, author_rank smallint, author_groups text[], roots uuid[], weight float8,
            observed_at timestamptz, source_seq bigint, order_digest text)
        ON CONFLICT ON CONSTRAINT memory_evidence_counts_a_source_once DO NOTHING;
    END IF;
    IF p ? 'bases' THEN
        -- All that a claim rests on, laid together: the highest sequence of a claim counts.
        INSERT INTO memory_bases (id, tenant_id, memory_id, candidate_id, lower_id, lower_version, sequence, carries,
            share, claim_weight, value_digest, weight, observed_at, roots, principals, trust, lineages,
            decision_id, recorded_at)
        SELECT uuidv7(), v_tenant, v_memory, b.candidate, b.lower, b.lower_version,
            1 + coalesce((SELECT max(sequence) FROM memory_bases
                          WHERE tenant_id = v_tenant AND candidate_id = b.candidate), 0),
            b.carries, b.share, b.claim_weight, b.value_digest, b.weight, b.observed_at, b.roots, b.principals,
            b.trust, b.lineages, (p#>>'{decision,id}')::uuid, v_recorded
        FROM jsonb_to_recordset(p->'bases') AS b (candidate uuid, lower uuid, lower_version int, carries boolean,
            share float8, claim_weight float8, value_digest text, weight float8, observed_at timestamptz,
            roots uuid[], principals uuid[], trust text, lineages int);
    END IF;
    IF p ? 'ruling' THEN
        INSERT INTO rulings (id, tenant_id, memory_id, evidence_id, decision_id, settles, winner, effective_from,
            sequence, keeps_conflict, decided_by_id, recorded_at)
        SELECT r.id, v_tenant, v_memory, r.evidence, (p#>>'{decision,id}')::uuid, r.settles, r.winner,
            r.effective_from, r.sequence, r.keeps_conflict, r.decided_by, v_recorded
        FROM jsonb_to_record(p->'ruling') AS r (id uuid, evidence uuid, settles text[], winner text,
            effective_from timestamptz, sequence int, keeps_conflict boolean, decided_by uuid);
    END IF;
    IF p ? 'dismissed' THEN
        UPDATE memory_evidence claim SET superseded_at = v_recorded, superseded_by = gone.ruling
        FROM jsonb_to_recordset(p->'dismissed') AS gone (kind text, source uuid, statement int, ruling uuid)
        WHERE claim.tenant_id = v_tenant AND claim.memory_id = v_memory AND claim.source_kind = gone.kind
          AND claim.source_id = gone.source AND claim.statement = gone.statement
          AND claim.superseded_at IS NULL;
    END IF;

    IF p ? 'withdraws' THEN
        UPDATE memory_evidence claim SET withdrawn_by = (p#>>'{decision,id}')::uuid
        FROM jsonb_to_recordset(p->'withdraws') AS gone (kind text, source uuid, statement int)
        WHERE claim.tenant_id = v_tenant AND claim.memory_id = v_memory AND claim.source_kind = gone.kind
          AND claim.source_id = gone.source AND claim.statement = gone.statement AND claim.withdrawn_by IS NULL;
    END IF;

    -- (f) Close first, then insert: the exclusion constraint is immediate.
    IF p ? 'close' THEN
        UPDATE memory_versions held SET recorded_to = v_recorded, superseded_by = gone.successor,
            state = CASE WHEN held.state = 'active' THEN 'superseded' ELSE held.state END
        FROM jsonb_to_recordset(p->'close') AS gone (id uuid, successor uuid)
        WHERE held.tenant_id = v_tenant AND held.memory_id = v_memory AND held.id = gone.id
          AND held.recorded_to IS NULL;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        IF v_rows <> jsonb_array_length(p->'close') THEN
            RAISE EXCEPTION 'a part to be closed is not held' USING ERRCODE = 'restrict_violation',
                CONSTRAINT = 'memory_versions_close_what_is_held';
        END IF;
    END IF;
    IF p ? 'parts' THEN
        INSERT INTO memory_versions (id, tenant_id, memory_id, version, part, schema_version, scope_id,
            candidate_id, decision_id, content, value, value_digest, is_absent, epistemic_status, state,
            supersedes, author_id, author_rank, author_groups, opener, since, replaced_digest, source_event_ids,
            evidence_refs, independent_evidence_count, validation_method, reviewed_by_id, validated_at,
            review_after, occurred_at, ingested_at, valid_from, valid_to, recorded_from, retention_class,
            access_policy_id, deletion_epoch, authority_revision, content_hash)
        SELECT n.id, v_tenant, v_memory, v_version, n.part, 1, v_scope, n.candidate, (p#>>'{decision,id}')::uuid,
            made.content, made.value, made.value_digest, made.value_digest IS NULL,
            CASE WHEN n.is_validated THEN 'validated' ELSE made.epistemic_status END,
            CASE WHEN n.id = ANY (v_reviewed) THEN 'needs_review' ELSE 'active' END, n.supersedes, n.author,
            n.author_rank, n.author_groups, n.opener, n.since,
            n.replaced_digest, n.source_event_ids,
            -- Keys of evidence, never its words; in order, so that equal records have equal text.
            ARRAY(SELECT item.evidence_key FROM candidate_evidence link
                  JOIN evidence item ON item.tenant_id = v_tenant AND item.id = link.evidence_id
                  WHERE link.tenant_id = v_tenant AND link.candidate_id = n.candidate
                  ORDER BY item.evidence_key),
            n.independent, coalesce(n.validation_method, before.validation_method, ''),
            coalesce(n.reviewed_by, before.reviewed_by_id), coalesce(n.validated_at, before.validated_at),
            CASE WHEN n.validation_method IS NULL THEN before.review_after ELSE n.review_after END,
            made.occurred_at, event.ingested_at, n.valid_from, n.valid_to,
            v_recorded, event.retention_class, owner.access_policy_id, v_epoch, '', made.content_hash
        FROM jsonb_to_recordset(p->'parts') AS n (id uuid, part smallint, candidate uuid, supersedes uuid,
            author uuid, author_rank smallint, author_groups text[], opener text, since timestamptz,
            replaced_digest text, source_event_ids uuid[], independent int,
            is_validated boolean, validation_method text, reviewed_by uuid, validated_at timestamptz,
            review_after timestamptz, valid_from timestamptz, valid_to timestamptz)
        JOIN memory_candidates made ON made.tenant_id = v_tenant AND made.id = n.candidate
        JOIN source_events event ON event.tenant_id = v_tenant AND event.id = made.source_event_id
        JOIN scopes owner ON owner.tenant_id = v_tenant AND owner.id = v_scope
        -- What was validated stays so when its period is cut: by whom stands on the part that it was.
        LEFT JOIN LATERAL (
            SELECT held.validation_method, held.reviewed_by_id, held.validated_at, held.review_after
            FROM memory_versions held
            WHERE n.is_validated AND held.tenant_id = v_tenant AND held.memory_id = v_memory
              AND held.validation_method <> '' AND held.value_digest IS NOT DISTINCT FROM made.value_digest
            ORDER BY held.recorded_from DESC, held.part LIMIT 1
        ) before ON true;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        IF v_rows <> jsonb_array_length(p->'parts') THEN
            RAISE EXCEPTION 'a part has no candidate' USING ERRCODE = 'restrict_violation',
                CONSTRAINT = 'memory_versions_come_from_a_candidate';
        END IF;
    END IF;

    -- (g) The conflict set and what waits for a person.
    IF p ? 'conflict' THEN
        v_set := (p#>>'{conflict,id}')::uuid;
        IF p#>>'{conflict,state}' = 'open' THEN
            INSERT INTO conflict_sets (id, tenant_id, memory_id, state, reason, standing, opened_from, opened_at,
                                       kept_at)
            VALUES (v_set, v_tenant, v_memory, 'open', p#>>'{conflict,reason}', p#>>'{conflict,standing}',
                    (p#>>'{conflict,opened_from}')::timestamptz, v_recorded,
                    CASE WHEN (p#>>'{conflict,kept}')::boolean THEN v_recorded END)
            ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, standing = excluded.standing,
                opened_from = excluded.opened_from, kept_at = excluded.kept_at;
            INSERT INTO conflict_members (id, tenant_id, conflict_set_id, source, candidate_id, is_standing,
                                          joined_at)
            SELECT m.id, v_tenant, v_set, m.source, m.candidate, m.is_standing, v_recorded
            FROM jsonb_to_recordset(p#>'{conflict,members}')
                AS m (id uuid, source text, candidate uuid, is_standing boolean)
            ON CONFLICT ON CONSTRAINT conflict_members_join_once
            DO UPDATE SET is_standing = excluded.is_standing, left_at = NULL;
            UPDATE conflict_members SET left_at = v_recorded
            WHERE tenant_id = v_tenant AND conflict_set_id = v_set AND left_at IS NULL
              AND source NOT IN (SELECT m.source FROM jsonb_to_recordset(p#>'{conflict,members}')
                                 AS m (source text));
        ELSE
            UPDATE conflict_sets SET state = p#>>'{conflict,state}', closed_at = v_recorded
            WHERE tenant_id = v_tenant AND id = v_set AND state = 'open';
        END IF;
    END IF;
    IF p ? 'closes_item' THEN
        UPDATE review_items SET state = 'decided', decided_at = v_recorded, decided_by_id = (p->>'decider')::uuid,
            decision_id = (p#>>'{decision,id}')::uuid, outcome = p#>>'{closes_item,outcome}'
        WHERE tenant_id = v_tenant AND id = (p#>>'{closes_item,id}')::uuid;
        IF p#>>'{closes_item,note}' <> '' THEN
            INSERT INTO review_comments (id, tenant_id, item_id, author_id, text, created_at)
            VALUES ((p#>>'{closes_item,note_id}')::uuid, v_tenant, (p#>>'{closes_item,id}')::uuid,
                    (p->>'decider')::uuid, p#>>'{closes_item,note}', v_recorded);
        END IF;
    END IF;
    IF p ? 'withdraws_items' THEN
        UPDATE review_items SET state = 'withdrawn', decided_at = v_recorded, outcome = gone.outcome,
            decision_id = (p#>>'{decision,id}')::uuid
        FROM jsonb_to_recordset(p->'withdraws_items') AS gone (object_id uuid, outcome text)
        WHERE review_items.tenant_id = v_tenant AND review_items.object_id = gone.object_id
          AND review_items.state = 'open';
    END IF;
    IF p ? 'close' THEN
        -- Nothing of the memory is under review any more: nobody need be asked.
        UPDATE review_items item SET state = 'withdrawn', decided_at = v_recorded,
            outcome = CASE WHEN p#>>'{parts,0,state}' IS NULL THEN 'memory_moved' ELSE p->>'reason' END,
            decision_id = (p#>>'{decision,id}')::uuid
        WHERE item.tenant_id = v_tenant AND item.object_id = v_memory AND item.kind = 'rereview'
          AND item.state = 'open' AND NOT EXISTS (
              SELECT FROM memory_versions held
              WHERE held.tenant_id = v_tenant AND held.memory_id = v_memory AND held.recorded_to IS NULL
                AND held.state = 'needs_review');
    END IF;
    IF p ? 'opens_item' THEN
        INSERT INTO review_items (id, tenant_id, kind, object_id, scope_id, memory_id, candidate_id, state, reason,
            priority, expected_version, opened_at, waiting_on, outcome)
        VALUES ((p#>>'{opens_item,id}')::uuid, v_tenant, p#>>'{opens_item,kind}',
            (p#>>'{opens_item,object_id}')::uuid, v_scope,
            v_touched, (p#>>'{opens_item,candidate}')::uuid, 'open',
            p#>>'{opens_item,reason}', 0, v_version, v_recorded, p#>>'{opens_item,waiting_on}', '')
        ON CONFLICT (tenant_id, object_id) WHERE state = 'open'
        DO UPDATE SET expected_version = excluded.expected_version, reason = excluded.reason,
            candidate_id = excluded.candidate_id;
    END IF;

    -- (h) Tell everyone, in the same transaction.
    IF v_changes THEN
        INSERT INTO outbox (id, tenant_id, topic, key, version, attempts, next_attempt_at, created_at, last_error)
        VALUES ((p#>>'{decision,outbox_id}')::uuid, v_tenant, 'memory_changed', v_memory, v_version, 0, v_now,
                v_now, '');
    END IF;
    RETURN jsonb_build_object('outcome', 'committed', 'memory', v_memory, 'version', v_version,
        'recorded_at', v_recorded, 'decision', p#>>'{decision,id}');
END $$;
