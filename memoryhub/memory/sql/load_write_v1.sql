-- Everything an explicit write begins from, in one round trip: the scope with the caller's rights, what became of
-- an earlier write of the same event, whom the event is by, the subject if it is known, and then the state of the
-- memory.
CREATE OR REPLACE FUNCTION load_write_v1(p jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_tenant uuid := (p->>'tenant')::uuid;
    v_scope scopes%ROWTYPE;
    v_subject uuid;
    v_runs record;
    answer jsonb;
BEGIN
    -- A session whose recall this may echo. Who relays somebody else does not speak for itself.
    SELECT * INTO v_runs FROM find_runs_of_session_v1(v_tenant, p->>'session', (p->>'principal')::uuid,
        CASE WHEN p->>'actor' IS NULL THEN (p->>'principal')::uuid END);
    SELECT * INTO v_scope FROM scopes
    WHERE tenant_id = v_tenant AND kind = p->>'scope_kind' AND key = p->>'scope_key';
    SELECT id INTO v_subject FROM subjects
    WHERE tenant_id = v_tenant AND key_digest = p->>'subject_digest';
    IF v_subject IS NULL THEN
        SELECT subject_id INTO v_subject FROM subject_aliases
        WHERE tenant_id = v_tenant AND key_digest = p->>'subject_digest';
    END IF;
    answer := jsonb_build_object(
        'subject', v_subject,
        'first_run', v_runs.first_run,
        'last_run', v_runs.last_run,
        'scope', CASE WHEN v_scope.id IS NOT NULL THEN jsonb_build_object(
            'id', v_scope.id, 'kind', v_scope.kind, 'key', v_scope.key, 'name', v_scope.name,
            'owner_id', v_scope.owner_id, 'deletion_epoch', v_scope.deletion_epoch,
            'retention_class', v_scope.retention_class, 'access_policy_id', v_scope.access_policy_id,
            'rights', list_scope_rights_v1((p->>'principal')::uuid, v_scope.id)) END,
        'earlier', (
            SELECT jsonb_build_object('content_digest', known.content_digest, 'salt', encode(body.salt, 'hex'),
                'candidate', candidate.id, 'status', candidate.status, 'action', decision.action,
                'reason', decision.reason, 'memory', decision.memory_id, 'version', decision.resulting_version,
                'recorded_at', decision.recorded_at,
                'barrier', find_barrier_v1(v_tenant, known.scope_id, candidate.subject_id, candidate.memory_id,
                                           candidate.fact_key, ARRAY[known.id], known.deletion_epoch))
            FROM source_events known
            LEFT JOIN source_event_bodies body ON body.event_id = known.id
            LEFT JOIN memory_candidates candidate ON candidate.tenant_id = known.tenant_id
                AND candidate.source_event_id = known.id AND candidate.extractor = 'caller'
            LEFT JOIN merge_decisions decision ON decision.tenant_id = known.tenant_id
                AND decision.candidate_id = candidate.id
            WHERE known.tenant_id = v_tenant AND known.event_key_digest = p->>'event_key_digest'
            -- Where a reviewer named the subject of a mention, what became of it under that name.
            ORDER BY candidate.status = 'superseded', decision.recorded_at, decision.id LIMIT 1));
    IF p->>'actor' IS NOT NULL THEN
        answer := answer || jsonb_build_object('actor', (
            SELECT jsonb_build_object('id', actor.id, 'rank', actor.rank,
                                      'groups', list_group_names_v1(actor.id))
            FROM principals actor
            WHERE actor.tenant_id = v_tenant AND actor.username = p->>'actor' AND actor.is_active
              AND actor.kind = 'human'));
    END IF;
    IF v_scope.id IS NOT NULL AND v_subject IS NOT NULL AND answer->'earlier' = 'null' THEN
        answer := answer || jsonb_build_object('state', load_memory_state_v1(p || jsonb_build_object(
            'scope', v_scope.id, 'subject', v_subject, 'epoch', v_scope.deletion_epoch,
            'session', CASE WHEN v_runs.first_run IS NOT NULL THEN p->>'session' END, 'received_at', p->>'now')));
    END IF;
    RETURN answer;
END $$;
