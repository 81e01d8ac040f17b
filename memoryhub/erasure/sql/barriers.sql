-- Which barrier stands in front of this material? NULL when none does.
-- `erase_up_to_epoch` covers what was begun before it; `suppress` and `restrict` cover what comes later too.
CREATE OR REPLACE FUNCTION find_barrier_v1(
    p_tenant uuid, p_scope uuid, p_subject uuid, p_memory uuid, p_fact_key text, p_sources uuid[], p_epoch bigint
) RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT barrier.id FROM revocations barrier
    WHERE barrier.tenant_id = p_tenant AND barrier.scope_id = p_scope
      AND (barrier.mode IN ('suppress', 'restrict')
           OR (barrier.mode = 'erase_up_to_epoch' AND p_epoch < barrier.epoch))
      AND CASE barrier.target
          WHEN 'scope' THEN true
          WHEN 'subject' THEN barrier.target_id = p_subject
          WHEN 'memory' THEN barrier.target_id = p_memory
          WHEN 'fact_key' THEN barrier.target_key = p_fact_key
                               AND (barrier.target_id IS NULL OR barrier.target_id = p_subject)
          ELSE barrier.target_id = ANY (p_sources)
          END
    ORDER BY barrier.id LIMIT 1
$$;
