-- What the tenant declared of this key: the row of the key itself, in any spelling, else of the most specific pattern
-- that it falls under. No row when nothing is declared. The key comes in its stored spelling or folded
-- (types/fact_keys.py); patterns are compared with folded keys alone. Segments hold letters, digits, `_` and `-`, so
-- that a pattern becomes a regular expression by its dots and stars.
CREATE OR REPLACE FUNCTION find_predicate_v1(p_tenant uuid, p_key text) RETURNS SETOF predicates
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT * FROM (
        SELECT * FROM predicates WHERE tenant_id = p_tenant AND fact_key = p_key
        UNION
        SELECT * FROM predicates WHERE tenant_id = p_tenant AND fold = p_key
        UNION
        SELECT * FROM predicates WHERE tenant_id = p_tenant AND rank <> ''
           AND p_key ~ ('^' || replace(replace(fold, '.', '\.'), '*', '[^.]+') || '$')
    ) declared ORDER BY rank, fold LIMIT 1
$$;
