-- Append one candidate with the evidence it rests on. Returns false when the same extraction was there already.
-- An explicit write is decided before it is appended: it lands with its status, else it waits as `pending`.
CREATE OR REPLACE FUNCTION append_candidate_v1(
    p jsonb, p_memory uuid DEFAULT NULL, p_status text DEFAULT 'pending', p_reason text DEFAULT '',
    p_decided timestamptz DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory_candidates (id, tenant_id, kind, scope_id, subject_id, task_key, memory_type, fact_key,
        conditions, conditions_digest, content, value, value_digest, content_hash,
        epistemic_status, confidence, stance,
        valid_from, valid_to, effective, trust, occurred_at, extractor, extractor_version, rule_digest, policy_version,
        deletion_epoch, source_event_id, source_kind, source_id, statement, proposer_id, author_id, author_rank, author_groups, authority,
        status, reason, memory_id, decided_at, created_at)
    SELECT c.id, c.tenant, c.kind, c.scope, c.subject, c.task_key, c.memory_type, c.fact_key, c.conditions,
        c.conditions_digest, c.content, c.value, c.value_digest, c.content_hash,
        c.epistemic_status, c.confidence, c.stance,
        c.valid_from, c.valid_to, c.effective, c.trust, c.occurred_at, c.extractor, c.extractor_version, c.rule_digest,
        c.policy_version, c.deletion_epoch, c.source_event, coalesce(c.source_kind, 'event'), c.source_id,
        c.statement, c.proposer, c.author, c.author_rank,
        c.author_groups, c.authority, p_status, p_reason, p_memory, p_decided, c.created_at
    FROM jsonb_to_record(p) AS c (id uuid, tenant uuid, kind text, scope uuid, subject uuid, task_key text,
        memory_type text, fact_key text, conditions jsonb, conditions_digest text, content text, value jsonb,
        value_digest text, content_hash text, epistemic_status text, confidence float8, stance text, valid_from timestamptz,
        valid_to timestamptz, effective boolean, trust text, occurred_at timestamptz, extractor text, extractor_version text,
        rule_digest text, policy_version text, deletion_epoch bigint, source_event uuid, source_kind text,
        source_id uuid, statement smallint,
        proposer uuid, author uuid, author_rank smallint, author_groups text[], authority text,
        created_at timestamptz)
    ON CONFLICT ON CONSTRAINT memory_candidates_are_extracted_once DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO candidate_evidence (id, tenant_id, candidate_id, evidence_id)
    SELECT uuidv7(), (p->>'tenant')::uuid, (p->>'id')::uuid, item::uuid
    FROM jsonb_array_elements_text(p->'evidence') AS item;
    RETURN true;
END $$;
