-- The three roles, made once in a new cluster. The bootstrap superuser exists already.
--   memoryhub_owner  owns the tables and migrates; may create the tests' database
--   memoryhub_app    serves: owns nothing, cannot bypass row-level security, cannot truncate
CREATE ROLE memoryhub_owner LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS PASSWORD {owner};
CREATE ROLE memoryhub_app LOGIN NOSUPERUSER NOCREATEDB NOBYPASSRLS PASSWORD {app};
