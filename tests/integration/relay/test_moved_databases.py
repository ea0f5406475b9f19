"""What docs/how-to/restore-a-database.md promises of each way in which a database can move, on real clusters."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from services.relay import identity
from services.relay.errors import StandbyError
from shared import database
from shared.errors import RefusedError
from tests.conftest import eventually
from tests.integration.relay.clusters import BURN, Cluster, clusters
from tests.integration.relay.conftest import create_outbox
from tests.integration.relay.recording import Log
from tests.integration.relay.test_retention import ONE_EVENT
from tests.integration.relay.test_rewind import relay, write
from tests.readme.documents import blocks

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "restore-a-database.md"
PENDING = {1, *range(22, 30)}
"""Row 1 commits late: it is below every floor, and in the list of running transactions."""

ONCE = """#!/bin/sh
shift; verb=$1; shift 2
for word; do shift; [ "$word" = --yes ] || set -- "$@" "$word"; done
exec {python} -m services.relay "$verb" "$@" --json
"""

MakeCluster = Callable[[str], Cluster]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MakeCluster]:
    with clusters(tmp_path) as make:
        yield make


@pytest.fixture
def log() -> Log:
    return Log()


def old_shop(cluster: Cluster, log: Log) -> Cluster:
    """Make a shop whose relay has published rows 2 to 21, and has to publish 1 (a late commit) and 22 to 29."""
    cluster.execute("CREATE DATABASE shop")
    engine = database.create_engine(cluster.url(), None, "writer", pool_size=5)
    create_outbox(engine)
    with engine.connect() as late:
        late.execute(text(ONE_EVENT))
        write(engine, 20)
        at_work = relay(cluster.url(), log)
        at_work.drain_once()
        at_work.drain_once()  # the floor moves with a renewal
        late.commit()
    write(engine, 8, first=6)
    engine.dispose()
    assert {row.id for row in log.rows()} == set(range(2, 22))
    return cluster


def write_more(cluster: Cluster) -> None:
    engine = database.create_engine(cluster.url(), None, "writer", pool_size=5)
    write(engine, 4, first=8)
    engine.dispose()


def follow_the_page(heading: str, tmp_path: Path, new: Cluster, old: Cluster | None = None) -> str:
    """Run a section's commands as written, with a `once` that works on the new cluster instead of a deployment."""
    section = re.search(rf"^## {heading}\n.*?(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert section, f"the page has lost its section {heading}"
    once = tmp_path / "bin" / "once"
    once.parent.mkdir(exist_ok=True)
    once.write_text(ONCE.format(python=sys.executable), encoding="utf-8")
    once.chmod(0o755)
    output = ""
    for block in blocks(PAGE.name, section[0]):
        for command in block.commands:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=tmp_path,
                env={
                    **os.environ,
                    "PATH": f"{once.parent}:{new.program('psql').parent}:{os.environ['PATH']}",
                    "PYTHONPATH": str(ROOT),
                    "OLD": old.url() if old else "",
                    "NEW": new.url(),
                    "DATABASE_URL": new.url(),
                },
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            output = done.stdout
    return output


def nothing_is_lost(cluster: Cluster, log: Log, count: int = 29) -> None:
    """Whatever is in the database is in the log, and first copies are in version order."""
    with database.connect(cluster.url(), None, "test") as connection:
        there = {event for (event,) in connection.execute("SELECT event_id FROM outbox")}
    assert len(there) == count
    assert log.event_ids() >= there
    for versions in log.first_copies().values():
        assert versions == sorted(versions)


@pytest.mark.parametrize("new_is_ahead", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_dump_stops_the_relay_until_it_is_rebased(
    cluster: MakeCluster, log: Log, tmp_path: Path, new_is_ahead: bool
) -> None:
    """Only what was pending goes out: a late commit and what came after the last settle, and then what is new."""
    old, new = cluster("old").make().start(), cluster("new").make().start()
    (new if new_is_ahead else old).execute(BURN.format(count=3000))
    old_shop(old, log)
    new.execute("CREATE DATABASE shop")
    copies = Log()
    with pytest.raises(AssertionError):
        nothing_is_lost(old, log)
    section_without_rebase(tmp_path, new, old)
    with pytest.raises(RefusedError, match="positions were written in cluster"):
        relay(new.url(), copies).drain_once()
    answer = json.loads(operate(new, "rebase", "--json"))
    assert (answer["pending"], answer["done"]) == (9, 20)
    relay(new.url(), copies).drain_once()
    assert {row.id for row in copies.rows()} == PENDING
    write_more(new)
    relay(new.url(), copies).drain_once()
    log.append(copies.rows())
    nothing_is_lost(new, log, 33)


def section_without_rebase(tmp_path: Path, new: Cluster, old: Cluster) -> None:
    """Do what the page says of a dump, except for its last command, which a test does after it has seen the words."""
    (block,) = blocks(PAGE.name, re.search(r"^## A dump\n.*?(?=^## )", PAGE.read_text(), re.M | re.S)[0])  # type: ignore[index]
    assert block.commands[-1] == "once relay rebase orders --yes"
    for command in block.commands[:-1]:
        path = f"{new.program('psql').parent}:{os.environ['PATH']}"
        subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "OLD": old.url(), "NEW": new.url()},
            check=True,
        )


def operate(cluster: Cluster, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "services.relay", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": cluster.url()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
@pytest.mark.parametrize("new_is_ahead", [False, True])
def test_a_logical_copy_without_transactions_is_published_whole_where_it_cannot_be_told(
    cluster: MakeCluster, log: Log, tmp_path: Path, new_is_ahead: bool
) -> None:
    """A late commit is among the rows below the floor, and nothing says which: all go out, and none is lost."""
    old, new = cluster("old").make().start(), cluster("new").make().start()
    (new if new_is_ahead else old).execute(BURN.format(count=3000))
    old_shop(old, log)
    new.execute("CREATE DATABASE shop")
    answer = json.loads(follow_the_page("A logical copy", tmp_path, new, old))
    assert answer["pending"] == 29
    assert answer["sequence_set_to"] == 29
    write_more(new)
    relay(new.url(), log).drain_once()
    nothing_is_lost(new, log, 33)


@pytest.mark.full
def test_rows_without_their_sequence_stop_the_relay(cluster: MakeCluster, log: Log) -> None:
    """New events would get ids that lie below the floor, and never leave."""
    shop = old_shop(cluster("old").make().start(), log)
    shop.execute("SELECT setval('outbox_id_seq', 3)", "shop")
    with pytest.raises(RefusedError, match="sequence of outbox ids stands at 3"):
        relay(shop.url(), log).drain_once()


@pytest.mark.full
def test_an_upgraded_cluster_goes_on_when_it_is_told_that_transactions_were_kept(
    cluster: MakeCluster, log: Log, tmp_path: Path
) -> None:
    """pg_upgrade changes the identity alone, so nothing goes out twice; the claim is refused after a dump."""
    old, new = cluster("old").make(), cluster("new").make()
    old.start()
    old.execute(BURN.format(count=3000))
    old_shop(old, log)
    old.stop()
    programs = str(new.program("postgres").parent)
    new.run(
        "pg_upgrade", "-b", programs, "-B", programs, "-d", str(old.postgres.data), "-D", str(new.postgres.data),
        "-p", str(old.postgres.port), "-P", str(new.postgres.port), "-U", "postgres", "-s", str(new.place),
    )  # fmt: skip
    new.start()
    with pytest.raises(RefusedError, match="xids-kept"):
        relay(new.url(), log).drain_once()
    follow_the_page("pg_upgrade", tmp_path, new)
    copies = Log()
    relay(new.url(), copies).drain_once()
    assert {row.id for row in copies.rows()} == PENDING
    log.append(copies.rows())
    nothing_is_lost(new, log)


def test_a_standby_is_waited_for_and_its_promotion_reported(cluster: MakeCluster, log: Log) -> None:
    """With synchronous replication nothing that was committed is missing, and nothing has to be done."""
    primary = old_shop(cluster("primary").make().start(), log)
    standby = cluster("standby").copy_of(primary, standby=True).start()
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.execute("SELECT pg_reload_conf()")
    eventually(
        lambda: primary.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"), 20, "it is synchronous"
    )
    write_more(primary)
    waiting = relay(standby.url(), log)
    with capture_logs() as said:
        waiting.step()
    assert "This is a standby" in str(said)
    with database.connect(standby.url(), None, "test") as connection, pytest.raises(StandbyError):
        identity.check(connection)
    primary.stop(at_once=True)
    standby.execute("SELECT pg_promote()")
    with capture_logs() as said:
        waiting.drain_once()
    assert "new timeline" in str(said)
    nothing_is_lost(standby, log, 33)
    with capture_logs() as said:
        relay(standby.url(), log).drain_once()
    assert "new timeline" not in str(said)


@pytest.mark.full
def test_an_older_backup_repeats_what_was_published_after_it(cluster: MakeCluster, log: Log, tmp_path: Path) -> None:
    """What it holds is in the log in the end, and a rewind sends all of it again."""
    shop = old_shop(cluster("shop").make().start(), log)
    backup = cluster("backup").copy_of(shop)
    relay(shop.url(), log).drain_once()
    write_more(shop)
    relay(shop.url(), log).drain_once()
    shop.stop(at_once=True)
    backup.start()
    copies = Log()
    relay(backup.url(), copies).drain_once()
    assert {row.id for row in copies.rows()} == PENDING
    nothing_is_lost(backup, log)
    assert json.loads(follow_the_page("An older backup", tmp_path, backup))["rows"] == 29
    again = Log()
    relay(backup.url(), again).drain_once()
    assert [row.id for row in again.rows()] == list(range(1, 30))
