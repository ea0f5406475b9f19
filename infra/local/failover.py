"""Two PostgreSQL servers, one copying the other: make the copy the primary, and have a copy again.

Invariant: there are never two primaries. Before a standby is promoted, the old primary is fenced: a file among its data
makes it a standby at its next start, whoever starts it, and only then is it ended.

What a promotion loses is decided before it happens. While commits wait for the standby (``synchronous_commit = on``),
everything that was answered is on its disk. When they do not, what it had not received is gone, and its readers of
events are ahead of it: nothing here can undo that, the checker names it.

Not promised: to notice that a primary is gone. Who promotes is a person, or a tool made for it (Patroni, an operator).
"""

from collections.abc import Callable
from gettext import gettext as _

import psycopg

from infra.local.errors import NotReadyError, StackError
from infra.local.postgres import Postgres
from infra.local.server import Report, wait_until_ready
from infra.local.stack import LocalStack

_WITHIN_SECONDS = 60


def pair(stack: LocalStack) -> tuple[Postgres, Postgres]:
    """Return the primary and its standby. Raises StackError where there are not one of each.

    In the middle of a promotion, which may be repeated, the primary is the one that was fenced.
    """
    servers = stack.databases()
    primaries = [each for each in servers if not each.is_standby] or [each for each in servers if each.is_fenced]
    standbys = [each for each in servers if each.name not in {primary.name for primary in primaries}]
    if len(primaries) != 1 or len(standbys) != 1:
        raise StackError(
            _(
                "This home has {primaries} primaries and {standbys} standbys, and one of each is needed. A pair comes "
                "with the profile cluster: `once up --profile cluster` in an empty home."
            ).format(primaries=len(primaries), standbys=len(standbys))
        )
    return primaries[0], standbys[0]


def promote(stack: LocalStack, report: Report, end: Callable[[str], None] | None = None) -> Postgres:
    """Make the standby the primary, and return it. ``end`` ends the old primary, if not in good order.

    The new primary works alone until ``rebuild``: waiting for a copy that is not there would stop all writes.
    """
    old, new = pair(stack)
    report(_("Keeping {name} from being the primary again").format(name=old.name))
    old.fence()
    if end is not None:
        end(old.name)
    stack.supervisor().stop_process(old.name)
    report(_("Promoting {name}").format(name=new.name))
    stack.supervisor().start_process(new.name)
    _wait(new.name, new.probe, stack, new)
    with _as_superuser(new) as connection:
        _wait_for_copies(connection, wanted=False)
        connection.execute("SELECT pg_promote(true, %s)", [_WITHIN_SECONDS])
    _wait(_("the promotion of {name}").format(name=new.name), lambda: _refuse_while_standby(new), stack, new)
    return new


def rebuild(stack: LocalStack, report: Report) -> Postgres:
    """Make the server that is not the primary a fresh copy of it, and let commits wait for it again; return it."""
    primary, copy = pair(stack)
    stack.supervisor().stop_process(copy.name)
    copy.copy_peer(report)
    stack.supervisor().start_process(copy.name)
    report(_("Waiting until {name} follows").format(name=copy.name))
    _wait(copy.name, lambda: _refuse_unless_followed(primary, copy), stack, copy)
    demand_copies(primary)
    return copy


def has_primary(stack: LocalStack) -> bool:
    return not all(server.is_standby for server in stack.databases())


def is_whole(stack: LocalStack) -> bool:
    """Tell whether the standby follows the primary, and commits wait for it."""
    primary, _copy = pair(stack)
    query = """
    SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')
    """
    with _as_superuser(primary) as connection:
        return connection.execute(query).fetchone() != (0,)


def demand_copies(primary: Postgres) -> None:
    """Let every commit wait until the standby has it on disk."""
    with _as_superuser(primary) as connection:
        _wait_for_copies(connection, wanted=True)


def release_copies(primary: Postgres) -> None:
    """Let commits be answered without the standby; those that wait are answered at once."""
    with _as_superuser(primary) as connection:
        _wait_for_copies(connection, wanted=False)


def _wait_for_copies(connection: psycopg.Connection[tuple[object, ...]], *, wanted: bool) -> None:
    if wanted:
        connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
    else:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
    connection.execute("SELECT pg_reload_conf()")


def _as_superuser(server: Postgres) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(server.url("postgres"), autocommit=True, connect_timeout=5)


def _refuse_while_standby(server: Postgres) -> None:
    with _as_superuser(server) as connection:
        row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    if row is None or row[0]:
        raise NotReadyError(_("{name} is still a standby").format(name=server.name))


def _refuse_unless_followed(primary: Postgres, copy: Postgres) -> None:
    query = "SELECT 1 FROM pg_stat_replication WHERE application_name = %s AND state = 'streaming'"
    with _as_superuser(primary) as connection:
        if connection.execute(query, [copy.name]).fetchone() is None:
            raise NotReadyError(_("{name} does not follow yet").format(name=copy.name))


def _wait(what: str, probe: Callable[[], None], stack: LocalStack, server: Postgres) -> None:
    wait_until_ready(
        name=what,
        probe=probe,
        alive=lambda: True,
        log=stack.supervisor().log_file(server.name),
        deadline_seconds=_WITHIN_SECONDS,
    )
