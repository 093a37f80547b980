-- A database for bandana-server, and a role that owns it and may do nothing else. As a superuser:
--   psql -v ON_ERROR_STOP=1 -f role.sql
-- The role has no password yet: give it one (\password bandana), or let it in by certificate (pg_hba.conf).
CREATE ROLE bandana LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
CREATE DATABASE bandana OWNER bandana;
REVOKE ALL ON DATABASE bandana FROM PUBLIC;
