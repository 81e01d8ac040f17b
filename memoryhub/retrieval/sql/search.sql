-- Find memories by their terms, in scopes the caller has the right to recall, at two instants.
-- A definer function, because text search is not leakproof and would read the whole tenant under row-level
-- security; it compares its tenant with the setting itself. Revoked, expired and erased parts are left out in the
-- filter, never after the ranking; what is under review is found, for whoever answers to say so and leave it out.
-- `p_terms` are single terms, quoted as a tsquery quotes them. Relevance is the share, in 0..1, of what was asked
-- for that the memory has: each term weighs ln(1 + found / found with it), so a rare term outweighs common ones.
-- At most 1,000 memories are weighed, the best by PostgreSQL's own rank, which also breaks ties.
CREATE OR REPLACE FUNCTION search_memories_v1(
    p_tenant uuid, p_scopes uuid[], p_terms text[], p_valid_at timestamptz, p_recorded_at timestamptz, p_limit int
) RETURNS TABLE (memory uuid, version_row uuid, relevance float8) LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH found AS MATERIALIZED (
        SELECT document.memory_id, held.id, document.terms, ts_rank(document.terms, query, 1) AS rank
        FROM CAST(array_to_string(p_terms, ' | ') AS tsquery) AS query
        JOIN search_documents document ON document.terms @@ query
        JOIN memory_versions held ON held.tenant_id = p_tenant AND held.memory_id = document.memory_id
        WHERE document.tenant_id = p_tenant
          AND p_tenant = nullif(current_setting('memoryhub.tenant', true), '')::uuid
          AND document.scope_id = ANY (p_scopes)
          AND held.valid_from <= p_valid_at AND (held.valid_to IS NULL OR p_valid_at < held.valid_to)
          AND held.recorded_from <= p_recorded_at
          AND (held.recorded_to IS NULL OR p_recorded_at < held.recorded_to)
          AND held.state IN ('active', 'superseded', 'needs_review') AND NOT held.is_absent
        ORDER BY rank DESC, document.memory_id LIMIT 1000
    ), has AS MATERIALIZED (
        SELECT found.memory_id, term FROM found, unnest(p_terms) AS term WHERE found.terms @@ CAST(term AS tsquery)
    ), weight AS (
        SELECT term, ln(1 + (SELECT count(*) FROM found)::float8 / nullif(count(has.memory_id), 0)) AS amount
        FROM unnest(p_terms) AS term LEFT JOIN has USING (term) GROUP BY term
    ), total AS (
        -- A term that nothing has would outweigh all others; it counts as a term that one memory has.
        SELECT sum(coalesce(amount, ln(1 + (SELECT count(*) FROM found)::float8))) AS amount FROM weight
    )
    SELECT found.memory_id, found.id, share.relevance FROM found
    JOIN (
        SELECT has.memory_id, sum(weight.amount) / (SELECT amount FROM total) AS relevance
        FROM has JOIN weight USING (term) GROUP BY has.memory_id
    ) share USING (memory_id)
    ORDER BY share.relevance DESC, found.rank DESC, found.memory_id LIMIT p_limit
$$;
