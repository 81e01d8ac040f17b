-- The kernel's operations by themselves, each once and each one round trip. The hot path does the same inside larger
-- functions; what appends and writes is the same there.

-- Append one record under the scope's guard, or find the one that its key stands for. `content_digest` and `salt` tell
-- whether it says the same; without a salt its body is gone.
CREATE OR REPLACE FUNCTION append_record_once_v1(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_new uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(p->>'scope', 0));
    v_new := append_records_v1(jsonb_build_array(p));
    RETURN (
        SELECT jsonb_build_object('id', record.id, 'is_new', record.id = ANY (v_new),
                                  'content_digest', record.content_digest, 'salt', encode(body.salt, 'hex'))
        FROM source_events record LEFT JOIN source_event_bodies body ON body.event_id = record.id
        WHERE record.tenant_id = (p->>'tenant')::uuid AND record.event_key_digest = p->>'event_key_digest');
END $$;

-- What a piece of evidence stands for, by its key, or NULL. Its parents by their keys, its own roots only where neither
-- a record nor a parent gives them.
CREATE OR REPLACE FUNCTION identify_evidence_v1(p_tenant uuid, p_key text) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('id', item.id, 'digest', item.digest, 'salt', encode(body.salt, 'hex'),
        'has_words', body.quote IS NOT NULL, 'is_erased', item.availability = 'erased', 'stands_for',
        jsonb_build_object('kind', item.kind, 'source_kind', item.source_kind, 'source_id', item.source_id,
            'scope', item.scope_id, 'event', item.event_id, 'span_start', item.span_start, 'span_end', item.span_end,
            'position', item."position", 'observed_at', item.observed_at, 'parents', parents.keys, 'roots',
            CASE WHEN item.event_id IS NULL AND parents.keys = '{}' THEN ARRAY(
                SELECT held.root FROM evidence_roots held
                WHERE held.tenant_id = p_tenant AND held.evidence_id = item.id ORDER BY 1) ELSE '{}' END))
    FROM evidence item
    LEFT JOIN evidence_bodies body ON body.evidence_id = item.id
    CROSS JOIN LATERAL (
        SELECT ARRAY(SELECT above.evidence_key::text FROM evidence_edges edge
                     JOIN evidence above ON above.tenant_id = edge.tenant_id AND above.id = edge.parent_id
                     WHERE edge.tenant_id = p_tenant AND edge.child_id = item.id ORDER BY 1) AS keys) parents
    WHERE item.tenant_id = p_tenant AND item.evidence_key = p_key
$$;

-- Write one piece of evidence, or find the one that its key stands for. "parents" are keys. Evidence of a record has
-- that record's root. Answers {"id", "is_new", ...} as `identify_evidence_v1`, or {"unknown": [keys]}.
CREATE OR REPLACE FUNCTION write_evidence_once_v1(p_tenant uuid, p jsonb, p_recorded timestamptz) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    known jsonb := identify_evidence_v1(p_tenant, p->>'evidence_key');
    v_parents text[] := ARRAY(SELECT jsonb_array_elements_text(p->'parents'));
    v_unknown text[];
    v_ids uuid[];
    v_root uuid;
BEGIN
    IF known IS NOT NULL THEN
        RETURN known || jsonb_build_object('is_new', false);
    END IF;
    v_ids := ARRAY(SELECT id FROM evidence WHERE tenant_id = p_tenant AND evidence_key = ANY (v_parents));
    -- Evidence of itself is known to nobody yet: the guard of the edges refuses it.
    IF p->>'evidence_key' = ANY (v_parents) THEN
        v_ids := v_ids || (p->>'id')::uuid;
    END IF;
    v_unknown := ARRAY(SELECT parent FROM unnest(v_parents) AS parent WHERE parent <> p->>'evidence_key'
                       EXCEPT SELECT evidence_key FROM evidence
                       WHERE tenant_id = p_tenant AND evidence_key = ANY (v_parents));
    IF p->>'event' IS NOT NULL THEN
        SELECT root INTO v_root FROM source_events WHERE tenant_id = p_tenant AND id = (p->>'event')::uuid;
        IF NOT FOUND THEN
            v_unknown := v_unknown || (p->>'event');
        END IF;
    END IF;
    IF cardinality(v_unknown) > 0 THEN
        RETURN jsonb_build_object('unknown', v_unknown);
    END IF;
    BEGIN
        PERFORM write_evidence_v1(p_tenant, jsonb_build_array(p || jsonb_build_object('derived_from', v_ids)
            || CASE WHEN v_root IS NULL OR v_ids <> '{}' THEN '{}'
                    ELSE jsonb_build_object('roots', ARRAY[v_root]) END), p_recorded);
    EXCEPTION WHEN unique_violation THEN
        -- Another request wrote the same key meanwhile.
        RETURN identify_evidence_v1(p_tenant, p->>'evidence_key') || jsonb_build_object('is_new', false);
    END;
    RETURN jsonb_build_object('id', p->>'id', 'is_new', true);
END $$;

-- Append a ruling as evidence: its words are what it settles, its position is its place among the rulings of the scope.
CREATE OR REPLACE FUNCTION record_ruling_once_v1(p_tenant uuid, p jsonb, p_recorded timestamptz) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    v_settles text[] := ARRAY(SELECT jsonb_array_elements_text(p->'settles'));
    v_unknown text[];
    v_place bigint;
    written jsonb;
BEGIN
    -- One after another, so that no two have the same place.
    PERFORM pg_advisory_xact_lock(hashtextextended('rulings of ' || (p->>'scope'), 0));
    IF NOT EXISTS (SELECT FROM evidence WHERE tenant_id = p_tenant AND evidence_key = p->>'evidence_key') THEN
        v_unknown := ARRAY(SELECT unnest(v_settles) EXCEPT SELECT evidence_key FROM evidence
                           WHERE tenant_id = p_tenant AND evidence_key = ANY (v_settles));
        IF cardinality(v_unknown) > 0 THEN
            RETURN jsonb_build_object('unknown', v_unknown);
        END IF;
    END IF;
    SELECT 1 + count(*) INTO v_place FROM evidence
    WHERE tenant_id = p_tenant AND scope_id = (p->>'scope')::uuid AND source_kind = 'ruling'
      AND "position" LIKE 'ruling %';
    written := write_evidence_once_v1(p_tenant, p || jsonb_build_object('position', 'ruling ' || v_place), p_recorded);
    RETURN written || jsonb_build_object('place', CASE WHEN (written->>'is_new')::boolean THEN v_place
        ELSE substr(written#>>'{stands_for,position}', 8)::bigint END);
END $$;

-- Erase the body of a record and the quotes taken from it, under the scope's guard; returns how many bodies there were.
CREATE OR REPLACE FUNCTION erase_record_v1(p_tenant uuid, p_record uuid, p_by uuid, p_at timestamptz) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    v_erased int;
    v_quotes int;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(scope_id::text, 0)) FROM source_events
    WHERE tenant_id = p_tenant AND id = p_record;
    UPDATE source_event_bodies SET payload = NULL, event_key = NULL, salt = NULL, erased_at = p_at, erased_by = p_by
    WHERE tenant_id = p_tenant AND event_id = p_record AND erased_at IS NULL;
    GET DIAGNOSTICS v_erased = ROW_COUNT;
    UPDATE evidence_bodies body SET quote = NULL, salt = NULL, erased_at = p_at, erased_by = p_by
    FROM evidence item
    WHERE item.tenant_id = p_tenant AND item.event_id = p_record AND body.evidence_id = item.id
      AND body.tenant_id = p_tenant AND body.erased_at IS NULL;
    GET DIAGNOSTICS v_quotes = ROW_COUNT;
    UPDATE evidence SET availability = 'erased'
    WHERE tenant_id = p_tenant AND event_id = p_record AND availability <> 'erased';
    RETURN v_erased + v_quotes;
END $$;
