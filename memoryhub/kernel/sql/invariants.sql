-- What never changes, whoever asks. Every trigger raises restrict_violation under its own name.

CREATE OR REPLACE FUNCTION refuse_change_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% refuses %', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;

-- Records never change: seed 003, first invariant.
CREATE TRIGGER source_events_never_change BEFORE UPDATE OR DELETE ON source_events
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();

-- A body may change once, to erased.
CREATE OR REPLACE FUNCTION refuse_all_but_erasure_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL
       AND to_jsonb(NEW) - ARRAY['payload', 'event_key', 'quote', 'salt', 'erased_at', 'erased_by']
         = to_jsonb(OLD) - ARRAY['payload', 'event_key', 'quote', 'salt', 'erased_at', 'erased_by'] THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% may change once, to erased', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER source_event_bodies_change_only_to_erased BEFORE UPDATE OR DELETE ON source_event_bodies
    FOR EACH ROW EXECUTE FUNCTION refuse_all_but_erasure_v1();
CREATE TRIGGER evidence_bodies_change_only_to_erased BEFORE UPDATE OR DELETE ON evidence_bodies
    FOR EACH ROW EXECUTE FUNCTION refuse_all_but_erasure_v1();

-- Evidence keeps its identity; only whether its quote can be read may change.
CREATE OR REPLACE FUNCTION refuse_all_but_availability_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - 'availability' = to_jsonb(OLD) - 'availability' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'evidence keeps its identity'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER evidence_keeps_its_identity BEFORE UPDATE OR DELETE ON evidence
    FOR EACH ROW EXECUTE FUNCTION refuse_all_but_availability_v1();
CREATE TRIGGER evidence_edges_never_change BEFORE UPDATE OR DELETE ON evidence_edges
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();
CREATE TRIGGER evidence_roots_never_change BEFORE UPDATE OR DELETE ON evidence_roots
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();

-- A guess never becomes its own support: edges lead to what was there before, in no circle.
CREATE OR REPLACE FUNCTION refuse_cycle_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Two edges drawn at once could close a circle that neither sees: one at a time in a tenant.
    PERFORM pg_advisory_xact_lock(hashtextextended('evidence_edges ' || NEW.tenant_id::text, 0));
    IF EXISTS (
        WITH RECURSIVE above AS (
            SELECT NEW.parent_id AS id
            UNION
            SELECT edge.parent_id FROM evidence_edges edge JOIN above ON edge.child_id = above.id
            WHERE edge.tenant_id = NEW.tenant_id
        ) SELECT FROM above WHERE id = NEW.child_id
    ) THEN
        RAISE EXCEPTION 'evidence would rest on itself'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER evidence_edges_have_no_cycle BEFORE INSERT ON evidence_edges
    FOR EACH ROW EXECUTE FUNCTION refuse_cycle_v1();

-- Audit is append-only.
CREATE TRIGGER audit_events_never_change BEFORE UPDATE OR DELETE ON audit_events
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();

-- The body of an event and the quote of evidence are of the same tenant as what they belong to.
ALTER TABLE source_event_bodies ADD CONSTRAINT source_event_bodies_event_is_of_the_tenant
    FOREIGN KEY (tenant_id, event_id) REFERENCES source_events (tenant_id, id);
ALTER TABLE evidence_bodies ADD CONSTRAINT evidence_bodies_evidence_is_of_the_tenant
    FOREIGN KEY (tenant_id, evidence_id) REFERENCES evidence (tenant_id, id);
