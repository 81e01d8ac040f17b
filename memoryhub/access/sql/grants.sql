-- What the serving role may do: read and add rows, change named columns, never truncate, own nothing.
-- Rows that are a projection or bookkeeping (sessions, rights, search documents) may be deleted.
GRANT USAGE ON SCHEMA public TO memoryhub_app;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO memoryhub_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO memoryhub_app;
REVOKE ALL ON django_migrations, django_content_type, auth_permission FROM memoryhub_app;
GRANT SELECT ON django_migrations, django_content_type, auth_permission TO memoryhub_app;
GRANT UPDATE, DELETE ON django_session, auth_group, auth_group_permissions, principals_groups,
    principals_user_permissions, scope_user_permissions, scope_group_permissions, tenant_user_permissions,
    tenant_group_permissions, search_documents TO memoryhub_app;

GRANT UPDATE (name, digest_salt) ON tenants TO memoryhub_app;
GRANT UPDATE (password, last_login, is_superuser, username, first_name, last_name, email, is_staff, is_active,
    date_joined, kind, display_name, rank, preferences, tenant_id) ON principals TO memoryhub_app;
GRANT UPDATE (last_used_at, revoked_at) ON api_tokens TO memoryhub_app;
GRANT UPDATE (name, deletion_epoch, retention_class, owner_id) ON scopes TO memoryhub_app;
GRANT UPDATE (groups) ON access_policies TO memoryhub_app;
GRANT UPDATE (label) ON subjects, subject_aliases TO memoryhub_app;
GRANT UPDATE (status, answer, created_at) ON idempotency_keys TO memoryhub_app;
GRANT UPDATE (payload, event_key, salt, erased_at, erased_by) ON source_event_bodies TO memoryhub_app;
GRANT UPDATE (availability) ON evidence TO memoryhub_app;
GRANT UPDATE (quote, salt, erased_at, erased_by) ON evidence_bodies TO memoryhub_app;
GRANT UPDATE (cardinality, value_schema, normaliser, sensitive, requires_confirmation, authority_group,
    yields_only_to_validation) ON predicates TO memoryhub_app;
GRANT UPDATE (version, has_open_conflict, modality, confidence, support, opposition, independent_evidence_count,
    derived_at, deletion_epoch, last_recorded_at) ON memory_heads TO memoryhub_app;
GRANT UPDATE (recorded_to, superseded_by, state) ON memory_versions TO memoryhub_app;
GRANT UPDATE (status, reason, memory_id, decided_at, deletion_epoch) ON memory_candidates TO memoryhub_app;
GRANT UPDATE (superseded_at, superseded_by, withdrawn_by) ON memory_evidence TO memoryhub_app;
GRANT UPDATE (state, reason, standing, opened_from, kept_at, closed_at) ON conflict_sets TO memoryhub_app;
GRANT UPDATE (is_standing, left_at) ON conflict_members TO memoryhub_app;
GRANT UPDATE (state, priority, expected_version, reason, candidate_id, deferred_until, waiting_on, lease_holder_id,
    lease_expires_at, decided_at, decided_by_id, decision_id, outcome) ON review_items TO memoryhub_app;
GRANT UPDATE (text, erased_at) ON review_comments TO memoryhub_app;
GRANT UPDATE (mode, lifted_at, hits) ON revocations TO memoryhub_app;
GRANT UPDATE (attempts, next_attempt_at, delivered_at, last_error) ON outbox TO memoryhub_app;
GRANT UPDATE (state, attempts, next_attempt_at, lease_expires_at, last_error, ended_at, deletion_epoch)
    ON processing_jobs TO memoryhub_app;
GRANT UPDATE (feedback) ON retrieval_runs TO memoryhub_app;

-- Functions that see more than one tenant are for the serving role alone.
REVOKE ALL ON FUNCTION authenticate_token_v1, claim_jobs_v1, claim_outbox_v1, search_memories_v1 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION authenticate_token_v1, claim_jobs_v1, claim_outbox_v1, search_memories_v1
    TO memoryhub_app;
