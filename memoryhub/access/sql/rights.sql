-- May a principal of this kind hold this right at all? What rules over others' claims is for people: an agent or a
-- service has none of it, whatever group it was put into. The list is RIGHTS_OF_PEOPLE of access/operations.py.
CREATE OR REPLACE FUNCTION may_hold_right_v1(p_principal uuid, p_right text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT p_right NOT IN ('review_memory', 'promote_memory', 'approve_erasure', 'administer_scope')
        OR EXISTS (SELECT FROM principals WHERE id = p_principal AND kind = 'human')
$$;

-- May this principal use this right on this scope, by itself or through a group?
-- Rights are read again at every commit, so a right that was taken away stops at once.
CREATE OR REPLACE FUNCTION has_scope_right_v1(p_principal uuid, p_scope uuid, p_right text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT may_hold_right_v1(p_principal, p_right) AND (EXISTS (
        SELECT FROM scope_user_permissions held
        JOIN auth_permission known ON known.id = held.permission_id
        WHERE held.user_id = p_principal AND held.content_object_id = p_scope AND known.codename = p_right
    ) OR EXISTS (
        SELECT FROM scope_group_permissions held
        JOIN auth_permission known ON known.id = held.permission_id
        JOIN principals_groups member ON member.group_id = held.group_id
        WHERE member.principal_id = p_principal AND held.content_object_id = p_scope
          AND known.codename = p_right
    ))
$$;

-- Which rights does this principal hold on this scope? Names, in order.
CREATE OR REPLACE FUNCTION list_scope_rights_v1(p_principal uuid, p_scope uuid) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(DISTINCT codename ORDER BY codename), '{}') FROM (
        SELECT known.codename::text FROM scope_user_permissions held
        JOIN auth_permission known ON known.id = held.permission_id
        WHERE held.user_id = p_principal AND held.content_object_id = p_scope
        UNION ALL
        SELECT known.codename::text FROM scope_group_permissions held
        JOIN auth_permission known ON known.id = held.permission_id
        JOIN principals_groups member ON member.group_id = held.group_id
        WHERE member.principal_id = p_principal AND held.content_object_id = p_scope
    ) rights WHERE may_hold_right_v1(p_principal, codename)
$$;

-- Which groups is this principal in? Names, in order; the one place that asks.
CREATE OR REPLACE FUNCTION list_group_names_v1(p_principal uuid) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(known.name::text ORDER BY known.name), '{}')
    FROM principals_groups member JOIN auth_group known ON known.id = member.group_id
    WHERE member.principal_id = p_principal
$$;

-- Who is this token? One narrow look-up before any tenant is known; no cache, so a revoked token stops at once.
-- Tokens, principals and tenants have no row-level security (see docs/reference/configuration.md).
CREATE OR REPLACE FUNCTION authenticate_token_v1(p_digest text, p_now timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT jsonb_build_object(
        'token', token.id, 'principal', actor.id, 'tenant', tenant.id, 'tenant_slug', tenant.slug,
        'kind', actor.kind, 'name', coalesce(nullif(actor.display_name, ''), actor.username),
        'rank', actor.rank, 'actions', token.actions, 'salt', encode(tenant.digest_salt, 'hex'),
        'expires_at', token.expires_at,
        'groups', list_group_names_v1(actor.id),
        'own_patterns', (SELECT coalesce(jsonb_agg(jsonb_build_array(own.kind, own.pattern) ORDER BY own.id), '[]')
                         FROM screening_patterns own WHERE own.tenant_id = tenant.id AND own.retired_at IS NULL))
    FROM api_tokens token
    JOIN principals actor ON actor.id = token.principal_id
    JOIN tenants tenant ON tenant.id = token.tenant_id
    WHERE token.secret_digest = p_digest AND token.revoked_at IS NULL AND actor.is_active
      AND (token.expires_at IS NULL OR token.expires_at > p_now) AND tenant.digest_salt IS NOT NULL
$$;
