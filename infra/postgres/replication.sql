-- Run by the image of the cluster's first server, once, when it has made its data. The standby may copy them.
COPY (SELECT 'host replication postgres all scram-sha-256') TO PROGRAM 'cat >> "$PGDATA/pg_hba.conf"';

-- From the next start on a commit is answered once the standby has it on disk, too; before, nobody could answer.
ALTER SYSTEM SET synchronous_standby_names = '"postgres-2"';
ALTER SYSTEM SET wal_keep_size = '256MB';
