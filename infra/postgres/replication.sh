# Run by the image of the cluster's first server, once, when it has made its data. The standby may copy them.
echo 'host replication postgres all scram-sha-256' >>"$PGDATA/pg_hba.conf"

# From the next start on a commit is answered once the standby has it on disk, too; before, nobody could answer initdb.
# Where it is written, `ALTER SYSTEM` can change it.
cat >>"$PGDATA/postgresql.auto.conf" <<'END'
synchronous_standby_names = '"postgres-2"'
wal_keep_size = '256MB'
END
