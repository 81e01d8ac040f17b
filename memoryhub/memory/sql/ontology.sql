-- What holds of declared names, whoever writes. No subject becomes another, and no memory is about a question.

-- A key names one subject: as its own key or as an alias, never both. One at a time for each key, so that a subject
-- and an alias that are made at once see each other.
CREATE OR REPLACE FUNCTION refuse_second_meaning_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.tenant_id::text || NEW.key_digest, 0));
    IF TG_TABLE_NAME = 'subjects' AND EXISTS (
        SELECT FROM subject_aliases WHERE tenant_id = NEW.tenant_id AND key_digest = NEW.key_digest
    ) OR TG_TABLE_NAME = 'subject_aliases' AND EXISTS (
        SELECT FROM subjects WHERE tenant_id = NEW.tenant_id AND key_digest = NEW.key_digest
    ) THEN
        RAISE EXCEPTION 'a key names one subject'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER subjects_are_no_alias BEFORE INSERT ON subjects
    FOR EACH ROW EXECUTE FUNCTION refuse_second_meaning_v1();
CREATE OR REPLACE TRIGGER subject_aliases_are_no_subject BEFORE INSERT ON subject_aliases
    FOR EACH ROW EXECUTE FUNCTION refuse_second_meaning_v1();

-- A subject stays who it is; its label may be erased, and it may be declared afterwards.
CREATE OR REPLACE FUNCTION refuse_other_subject_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.label = OLD.label OR NEW.label = '')
       AND to_jsonb(NEW) - ARRAY['label', 'is_declared'] = to_jsonb(OLD) - ARRAY['label', 'is_declared'] THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a subject stays who it is'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE OR REPLACE TRIGGER subjects_stay_who_they_are BEFORE UPDATE OR DELETE ON subjects
    FOR EACH ROW EXECUTE FUNCTION refuse_other_subject_v1();
CREATE OR REPLACE TRIGGER subject_aliases_stay_with_their_subject BEFORE UPDATE OR DELETE ON subject_aliases
    FOR EACH ROW EXECUTE FUNCTION refuse_other_subject_v1();
CREATE OR REPLACE TRIGGER subject_mentions_stay_with_their_subject BEFORE UPDATE OR DELETE ON subject_mentions
    FOR EACH ROW EXECUTE FUNCTION refuse_other_subject_v1();

-- A memory is about somebody who is named: while a mention is unclear there is a candidate and no memory. And where
-- several values are true at once the value is a part of what the memory is, and nowhere else.
CREATE OR REPLACE FUNCTION check_what_a_head_is_about_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM subjects WHERE tenant_id = NEW.tenant_id AND id = NEW.subject_id AND is_unclear) THEN
        RAISE EXCEPTION 'a memory is about somebody who is named'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER memory_heads_are_about_somebody_named BEFORE INSERT ON memory_heads
    FOR EACH ROW EXECUTE FUNCTION check_what_a_head_is_about_v1();

CREATE OR REPLACE FUNCTION check_value_key_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.value_key <> '') <> EXISTS (
        SELECT FROM find_predicate_v1(NEW.tenant_id, NEW.fact_key) WHERE cardinality = 'many'
    ) THEN
        RAISE EXCEPTION 'the cardinality of the key changed meanwhile'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER memory_heads_follow_the_cardinality BEFORE INSERT ON memory_heads
    FOR EACH ROW EXECUTE FUNCTION check_value_key_v1();

GRANT UPDATE (label, is_declared) ON subjects TO memoryhub_app;
GRANT UPDATE (label) ON subject_mentions TO memoryhub_app;
GRANT UPDATE (name) ON predicates TO memoryhub_app;
GRANT UPDATE (description) ON entity_types TO memoryhub_app;
