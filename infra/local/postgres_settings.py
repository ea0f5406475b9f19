"""PostgreSQL's settings on the local stack: durability never traded for speed, and small, for a laptop."""

from collections.abc import Mapping

from infra.local.ports import HOST

NAMES = ("postgres", "postgres-2")
REPLICATOR = "replicator"

SETTINGS: Mapping[str, str] = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    # Durability, written out so that nobody wonders.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # For the engine `cdc`: events can be read from the log, and a reader that is away cannot fill the disk.
    "wal_level": "logical",
    "max_slot_wal_keep_size": "1GB",
    # Small, for a laptop.
    "shared_buffers": "64MB",
    "work_mem": "4MB",
    "maintenance_work_mem": "32MB",
    "wal_buffers": "2MB",
    "min_wal_size": "80MB",
    "max_wal_size": "512MB",
    "max_connections": "200",
    "max_prepared_transactions": "16",
    "io_method": "sync",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %a %u@%d ",
    "log_checkpoints": "off",
}


def pairing(name: str, peer: int, password: str) -> dict[str, str]:
    """Return what a server of a pair needs besides: ``peer`` is the other one's port, the password the replicator's."""
    return {
        "cluster_name": name,
        "primary_conninfo": f"host={HOST} port={peer} user={REPLICATOR} password={password} application_name={name}",
        # With synchronous_commit = on, a commit is answered once the other server has it on disk, too: whichever of the
        # two is lost, nothing that was answered goes with it. Nobody reads from the standby, so nobody has to wait
        # until it has also applied it (remote_apply).
        "synchronous_standby_names": f'ANY 1 ("{NAMES[0]}", "{NAMES[1]}")',
        "wal_keep_size": "256MB",
        "wal_retrieve_retry_interval": "500ms",
    }
