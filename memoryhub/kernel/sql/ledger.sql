-- The ledger's own guards: what is sealed stays sealed, in one order, and each seal follows the one before it.

CREATE OR REPLACE TRIGGER ledger_seals_never_change BEFORE UPDATE OR DELETE ON ledger_seals
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();
CREATE OR REPLACE TRIGGER ledger_entries_never_change BEFORE UPDATE OR DELETE ON ledger_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_change_v1();

CREATE OR REPLACE FUNCTION check_seal_follows_v1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before record;
BEGIN
    SELECT number, digest, first_position + entries AS next_position INTO before FROM ledger_seals
    WHERE tenant_id = NEW.tenant_id ORDER BY number DESC LIMIT 1;
    IF NEW.entries > 0 AND (NEW.number, NEW.previous, NEW.first_position)
       = (coalesce(before.number, 0) + 1, coalesce(before.digest, ''), coalesce(before.next_position, 1)) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a seal follows the one before it'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE OR REPLACE TRIGGER ledger_seals_follow_each_other BEFORE INSERT ON ledger_seals
    FOR EACH ROW EXECUTE FUNCTION check_seal_follows_v1();

-- The salt of a digest goes with the words it was made for. These fire after the triggers that say what may change:
-- triggers of one kind fire in the order of their names.
CREATE OR REPLACE FUNCTION forget_salt_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.salt := NULL;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER memory_candidates_lose_their_salt BEFORE UPDATE OF erased_at ON memory_candidates
    FOR EACH ROW WHEN (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL) EXECUTE FUNCTION forget_salt_v1();
CREATE OR REPLACE TRIGGER memory_versions_lose_their_salt BEFORE UPDATE OF state ON memory_versions
    FOR EACH ROW WHEN (NEW.state = 'erased') EXECUTE FUNCTION forget_salt_v1();

-- A barrier keeps what it stands in front of. Its mode may change along its table, it counts its hits, and what it
-- changed is written down once, in the transaction that raises it.
CREATE OR REPLACE FUNCTION refuse_moving_a_barrier_v1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    movable text[] := ARRAY['mode', 'lifted_at', 'hits'];
BEGIN
    IF OLD.effects IS NULL AND OLD.written_in = pg_current_xact_id()::text::bigint THEN
        movable := movable || ARRAY['effects'];
    END IF;
    IF to_jsonb(NEW) - movable = to_jsonb(OLD) - movable THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a barrier stays where it was put up'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE OR REPLACE TRIGGER revocations_stay_where_they_are BEFORE UPDATE ON revocations
    FOR EACH ROW EXECUTE FUNCTION refuse_moving_a_barrier_v1();
GRANT UPDATE (effects) ON revocations TO memoryhub_app;
