-- The password of the servers' role, which prepare.sh has drawn. It goes over the socket inside the container alone, and PostgreSQL
-- keeps a SCRAM verifier of it.
\set password `cat /run/database/bandana.password`
ALTER ROLE bandana PASSWORD :'password';
