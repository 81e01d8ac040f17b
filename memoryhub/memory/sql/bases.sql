-- What memories rest on: appended and never changed, in no circle. Seed 003 §2.6; ADR 0009.

CREATE OR REPLACE TRIGGER memory_bases_never_change BEFORE UPDATE OR DELETE ON memory_bases
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();

-- A memory never rests on itself, through however many others: what is above it can be no part of what is below.
CREATE OR REPLACE FUNCTION refuse_cycle_of_memories_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Two bases laid at once could close a circle that neither sees: one at a time in a tenant.
    PERFORM pg_advisory_xact_lock(hashtextextended('memory_bases ' || NEW.tenant_id::text, 0));
    IF EXISTS (
        WITH RECURSIVE below AS (
            SELECT NEW.lower_id AS id
            UNION
            SELECT basis.lower_id FROM memory_bases basis JOIN below ON basis.memory_id = below.id
            WHERE basis.tenant_id = NEW.tenant_id
        ) SELECT FROM below WHERE id = NEW.memory_id
    ) THEN
        RAISE EXCEPTION 'a memory would rest on itself'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER memory_bases_have_no_cycle BEFORE INSERT ON memory_bases
    FOR EACH ROW EXECUTE FUNCTION refuse_cycle_of_memories_v1();

-- The reference of a document is of the tenant of its evidence, and may change once, to erased.
ALTER TABLE evidence_documents DROP CONSTRAINT IF EXISTS evidence_documents_evidence_is_of_the_tenant;
ALTER TABLE evidence_documents ADD CONSTRAINT evidence_documents_evidence_is_of_the_tenant
    FOREIGN KEY (tenant_id, evidence_id) REFERENCES evidence (tenant_id, id);
CREATE OR REPLACE TRIGGER evidence_documents_change_only_to_erased BEFORE UPDATE OR DELETE ON evidence_documents
    FOR EACH ROW EXECUTE FUNCTION refuse_all_but_erasure_v1();
GRANT UPDATE (payload, erased_at, erased_by) ON evidence_documents TO memoryhub_app;
