-- A lead is something to follow up: whoever writes, it never counts as shown. What it led to is another candidate.
CREATE OR REPLACE FUNCTION refuse_validated_lead_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM memory_candidates
               WHERE tenant_id = NEW.tenant_id AND id = NEW.candidate_id AND kind = 'lead') THEN
        RAISE EXCEPTION 'a lead is never validated'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER memory_evidence_lead_is_never_validated BEFORE INSERT OR UPDATE ON memory_evidence
    FOR EACH ROW WHEN (NEW.validated) EXECUTE FUNCTION refuse_validated_lead_v1();
CREATE OR REPLACE TRIGGER memory_versions_lead_is_never_validated BEFORE INSERT OR UPDATE ON memory_versions
    FOR EACH ROW WHEN (NEW.validation_method <> '' OR NEW.validated_at IS NOT NULL OR NEW.epistemic_status = 'validated')
    EXECUTE FUNCTION refuse_validated_lead_v1();
