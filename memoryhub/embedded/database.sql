-- What every database of memoryhub starts with. Run by the superuser in template1, from which
-- the product's database and the tests' are copied. Every statement may be run again.
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS vector;

-- What the owner makes, the application may read and add to. UPDATE and DELETE are granted
-- column by column and table by table in the migrations; TRUNCATE never.
ALTER DEFAULT PRIVILEGES FOR ROLE memoryhub_owner
    GRANT SELECT, INSERT ON TABLES TO memoryhub_app;
ALTER DEFAULT PRIVILEGES FOR ROLE memoryhub_owner
    GRANT USAGE ON SEQUENCES TO memoryhub_app;
ALTER DEFAULT PRIVILEGES FOR ROLE memoryhub_owner
    REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE memoryhub_owner
    GRANT EXECUTE ON FUNCTIONS TO memoryhub_app;
