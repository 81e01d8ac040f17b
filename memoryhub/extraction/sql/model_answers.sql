-- What a model answered is recorded input: it comes once, and afterwards changes only to erased. What was asked, and
-- that it was, never changes.
CREATE OR REPLACE FUNCTION refuse_another_answer_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
       AND to_jsonb(NEW) - ARRAY['tokens', 'answer', 'answered_at', 'erased_at']
         = to_jsonb(OLD) - ARRAY['tokens', 'answer', 'answered_at', 'erased_at']
       AND (-- no answer is there yet: it comes, or it is asked for again
            (OLD.answered_at IS NULL AND OLD.erased_at IS NULL AND NEW.erased_at IS NULL)
            -- or everything goes
            OR (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND NEW.answer = ''
                AND NEW.tokens = OLD.tokens AND NEW.answered_at IS NOT DISTINCT FROM OLD.answered_at)) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'an answer comes once'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE OR REPLACE TRIGGER model_answers_come_once BEFORE UPDATE OR DELETE ON model_answers
    FOR EACH ROW EXECUTE FUNCTION refuse_another_answer_v1();
GRANT UPDATE (tokens, answer, answered_at, erased_at) ON model_answers TO memoryhub_app;

-- Set tokens aside for a question, if the tenant has them left today: {"outcome": "asked" | "known" | "over_budget",
-- "id", "answer"}. The tenant's own lock makes the sum strict: two workers never spend the same tokens.
CREATE OR REPLACE FUNCTION reserve_question_v1(p jsonb, p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    v_tenant uuid := (p->>'tenant')::uuid;
    v_tokens integer := (p->>'tokens')::integer;
    v_day timestamptz := date_trunc('day', p_now AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
    known record;
    v_spent bigint;
    v_id uuid;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('model tokens ' || v_tenant::text, 0));
    SELECT id, answer, answered_at, erased_at INTO known FROM model_answers
    WHERE tenant_id = v_tenant AND event_id = (p->>'event')::uuid
      AND extractor_version = p->>'extractor_version' AND question_digest = p->>'digest';
    IF FOUND AND (known.answered_at IS NOT NULL OR known.erased_at IS NOT NULL) THEN
        RETURN jsonb_build_object('outcome', 'known', 'id', known.id, 'answer', known.answer);
    END IF;
    SELECT coalesce(sum(tokens), 0) INTO v_spent FROM model_answers
    WHERE tenant_id = v_tenant AND asked_at >= v_day AND asked_at < v_day + interval '1 day';
    IF v_spent + v_tokens > (p->>'daily_tokens')::bigint THEN
        RETURN jsonb_build_object('outcome', 'over_budget', 'id', NULL, 'answer', NULL);
    END IF;
    IF known.id IS NOT NULL THEN
        -- Asked before without an answer: what that may have cost stays counted, on the day it began.
        UPDATE model_answers SET tokens = tokens + v_tokens WHERE tenant_id = v_tenant AND id = known.id;
        RETURN jsonb_build_object('outcome', 'asked', 'id', known.id, 'answer', NULL);
    END IF;
    INSERT INTO model_answers (id, tenant_id, event_id, extractor_version, model, question_digest, tokens, answer,
        asked_at)
    VALUES (uuidv7(), v_tenant, (p->>'event')::uuid, p->>'extractor_version', p->>'model', p->>'digest', v_tokens, '',
        p_now)
    RETURNING id INTO v_id;
    RETURN jsonb_build_object('outcome', 'asked', 'id', v_id, 'answer', NULL);
END $$;
