-- What holds of every memory, whoever writes. Seed 000 §4.3 and §5.4; seed 003 invariants 1, 3 and 5.

-- For any pair of instants at most one part of a memory holds. Immediate: close first, then insert.
ALTER TABLE memory_versions ADD CONSTRAINT memory_versions_no_overlap EXCLUDE USING gist (
    memory_id WITH =,
    tstzrange(valid_from, valid_to) WITH &&,
    tstzrange(recorded_from, recorded_to) WITH &&
);

-- A version is immutable but for closing its recorded period once, naming its successor, its state, and erasure.
CREATE OR REPLACE FUNCTION refuse_rewriting_a_version_v1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    movable text[] := ARRAY['recorded_to', 'superseded_by', 'state'];
    erasable text[] := ARRAY['content', 'value', 'source_event_ids', 'evidence_refs', 'content_hash'];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state = 'erased' AND OLD.state <> 'erased' THEN
            movable := movable || erasable;
        END IF;
        IF to_jsonb(NEW) - movable = to_jsonb(OLD) - movable
           AND (OLD.recorded_to IS NULL OR NEW.recorded_to IS NOT DISTINCT FROM OLD.recorded_to)
           AND (OLD.superseded_by IS NULL OR NEW.superseded_by IS NOT DISTINCT FROM OLD.superseded_by) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'a version is never rewritten'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER memory_versions_are_never_rewritten BEFORE UPDATE OR DELETE ON memory_versions
    FOR EACH ROW EXECUTE FUNCTION refuse_rewriting_a_version_v1();

-- Supersession is reciprocal: whoever is named as successor names its predecessor.
CREATE OR REPLACE FUNCTION check_reciprocal_supersession_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.superseded_by IS NOT NULL AND NOT EXISTS (
        SELECT FROM memory_versions successor
        WHERE successor.id = NEW.superseded_by AND successor.supersedes = NEW.id
          AND successor.memory_id = NEW.memory_id AND successor.recorded_from > NEW.recorded_from
    ) THEN
        RAISE EXCEPTION 'a successor names its predecessor'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER memory_versions_supersede_each_other AFTER INSERT OR UPDATE OF superseded_by
    ON memory_versions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.superseded_by IS NOT NULL) EXECUTE FUNCTION check_reciprocal_supersession_v1();

-- A part belongs to the newest version of its head when it is written.
CREATE OR REPLACE FUNCTION check_version_of_head_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM memory_heads head
        WHERE head.id = NEW.memory_id AND head.tenant_id = NEW.tenant_id AND head.version = NEW.version
          AND head.scope_id = NEW.scope_id
    ) THEN
        RAISE EXCEPTION 'a part is written under the version of its head'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER memory_versions_follow_their_head BEFORE INSERT ON memory_versions
    FOR EACH ROW EXECUTE FUNCTION check_version_of_head_v1();

-- The compare-and-set point moves one step at a time and never changes what memory it is.
CREATE OR REPLACE FUNCTION check_head_moves_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.version BETWEEN OLD.version AND OLD.version + 1
       AND NEW.last_recorded_at >= OLD.last_recorded_at
       AND (NEW.id, NEW.tenant_id, NEW.scope_id, NEW.subject_id, NEW.memory_type, NEW.fact_key,
            NEW.conditions_digest, NEW.value_key, NEW.created_at)
         = (OLD.id, OLD.tenant_id, OLD.scope_id, OLD.subject_id, OLD.memory_type, OLD.fact_key,
            OLD.conditions_digest, OLD.value_key, OLD.created_at) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the version of a head rises by one and its key stays'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER memory_heads_version_rises_by_one BEFORE UPDATE OR DELETE ON memory_heads
    FOR EACH ROW EXECUTE FUNCTION check_head_moves_v1();

-- Evidence is a set: a claim stays; it is superseded at most once, by a ruling, and withdrawn at most once, by a
-- revocation of its source.
CREATE OR REPLACE FUNCTION refuse_all_but_supersession_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
       AND (OLD.superseded_at IS NULL OR (NEW.superseded_at, NEW.superseded_by)
                                         IS NOT DISTINCT FROM (OLD.superseded_at, OLD.superseded_by))
       AND (OLD.withdrawn_by IS NULL OR NEW.withdrawn_by IS NOT DISTINCT FROM OLD.withdrawn_by)
       AND to_jsonb(NEW) - ARRAY['superseded_at', 'superseded_by', 'withdrawn_by']
         = to_jsonb(OLD) - ARRAY['superseded_at', 'superseded_by', 'withdrawn_by'] THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a claim stays, and is superseded at most once'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER memory_evidence_is_superseded_once BEFORE UPDATE OR DELETE ON memory_evidence
    FOR EACH ROW EXECUTE FUNCTION refuse_all_but_supersession_v1();

CREATE TRIGGER merge_decisions_never_change BEFORE UPDATE OR DELETE ON merge_decisions
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();
CREATE TRIGGER rulings_never_change BEFORE UPDATE OR DELETE ON rulings
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();
CREATE TRIGGER candidate_evidence_never_changes BEFORE UPDATE OR DELETE ON candidate_evidence
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();

-- A candidate keeps what it proposed; what became of it may change along the table in types/enums.py.
CREATE OR REPLACE FUNCTION refuse_rewriting_a_candidate_v1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    movable text[] := ARRAY['status', 'reason', 'memory_id', 'decided_at', 'deletion_epoch'];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL THEN
            movable := movable || ARRAY['content', 'value', 'conditions', 'content_hash', 'erased_at'];
        END IF;
        IF to_jsonb(NEW) - movable = to_jsonb(OLD) - movable AND NEW.deletion_epoch >= OLD.deletion_epoch THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'a candidate keeps what it proposed'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER memory_candidates_keep_what_they_proposed BEFORE UPDATE OR DELETE ON memory_candidates
    FOR EACH ROW EXECUTE FUNCTION refuse_rewriting_a_candidate_v1();

-- The epoch is the barrier's clock; it never runs backwards.
CREATE OR REPLACE FUNCTION refuse_lower_epoch_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.deletion_epoch < OLD.deletion_epoch THEN
        RAISE EXCEPTION 'a deletion epoch never falls'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER scopes_deletion_epoch_never_falls BEFORE UPDATE OF deletion_epoch ON scopes
    FOR EACH ROW EXECUTE FUNCTION refuse_lower_epoch_v1();
CREATE TRIGGER scopes_are_never_deleted BEFORE DELETE ON scopes
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();
CREATE TRIGGER revocations_are_never_deleted BEFORE DELETE ON revocations
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();
