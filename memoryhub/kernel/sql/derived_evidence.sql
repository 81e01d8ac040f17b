-- What was derived goes back to exactly the roots of what it was derived from: edges first, then those roots.

-- Edges are drawn while the evidence has no roots yet, so that no root can stand that the edges do not lead to.
CREATE OR REPLACE FUNCTION refuse_edge_of_rooted_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM evidence_roots WHERE tenant_id = NEW.tenant_id AND evidence_id = NEW.child_id) THEN
        RAISE EXCEPTION 'evidence that has its roots is not derived afterwards'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER evidence_edges_precede_roots BEFORE INSERT ON evidence_edges
    FOR EACH ROW EXECUTE FUNCTION refuse_edge_of_rooted_v1();

-- A root of derived evidence is a root of one of its parents; what something was derived from gains no root.
CREATE OR REPLACE FUNCTION refuse_foreign_root_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM evidence_edges WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.evidence_id)
       OR EXISTS (SELECT FROM evidence_edges WHERE tenant_id = NEW.tenant_id AND child_id = NEW.evidence_id)
       AND NOT EXISTS (
           SELECT FROM evidence_edges edge
           JOIN evidence_roots held ON held.tenant_id = edge.tenant_id AND held.evidence_id = edge.parent_id
           WHERE edge.tenant_id = NEW.tenant_id AND edge.child_id = NEW.evidence_id AND held.root = NEW.root
       ) THEN
        RAISE EXCEPTION 'evidence goes back to what its edges lead to'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER evidence_roots_follow_the_edges BEFORE INSERT ON evidence_roots
    FOR EACH ROW EXECUTE FUNCTION refuse_foreign_root_v1();

-- At the commit no root of a parent is missing.
CREATE OR REPLACE FUNCTION refuse_missing_root_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM evidence_roots above
        WHERE above.tenant_id = NEW.tenant_id AND above.evidence_id = NEW.parent_id
          AND NOT EXISTS (SELECT FROM evidence_roots held WHERE held.tenant_id = NEW.tenant_id
                          AND held.evidence_id = NEW.child_id AND held.root = above.root)
    ) THEN
        RAISE EXCEPTION 'evidence goes back to every root of what it was derived from'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS evidence_edges_carry_their_roots ON evidence_edges;
CREATE CONSTRAINT TRIGGER evidence_edges_carry_their_roots AFTER INSERT ON evidence_edges
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_missing_root_v1();
