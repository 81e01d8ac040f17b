-- Find memories by their terms, in scopes the caller has the right to recall, at two instants.
-- A definer function, because text search is not leakproof and would read the whole tenant under row-level
-- security; it compares its tenant with the setting itself. Superseded, revoked and erased parts are left out
-- in the filter, never after the ranking. Very common terms rank by the newest, capped.
CREATE FUNCTION search_memories_v1(
    p_tenant uuid, p_scopes uuid[], p_query text, p_valid_at timestamptz, p_recorded_at timestamptz, p_limit int
) RETURNS TABLE (memory uuid, version_row uuid, relevance real) LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT found.memory_id, held.id, found.relevance FROM (
        SELECT document.memory_id, ts_rank(document.terms, query, 1) AS relevance
        FROM search_documents document, CAST(p_query AS tsquery) AS query
        WHERE document.tenant_id = p_tenant
          AND p_tenant = nullif(current_setting('memoryhub.tenant', true), '')::uuid
          AND document.scope_id = ANY (p_scopes) AND document.terms @@ query
        ORDER BY relevance DESC, document.memory_id LIMIT 1000
    ) found
    JOIN memory_versions held ON held.tenant_id = p_tenant AND held.memory_id = found.memory_id
    WHERE held.valid_from <= p_valid_at AND (held.valid_to IS NULL OR p_valid_at < held.valid_to)
      AND held.recorded_from <= p_recorded_at
      AND (held.recorded_to IS NULL OR p_recorded_at < held.recorded_to)
      AND held.state IN ('active', 'superseded') AND NOT held.is_absent
    ORDER BY found.relevance DESC, found.memory_id LIMIT p_limit
$$;
