"""The table of processes, namespaces, and rights."""

from infra.local.services import database_name, in_namespace, programs
from infra.postgres.roles import GRANTS, all_roles, owner


def test_the_default_copies_are_two_relays_a_database_two_of_billing_and_one_of_the_rest() -> None:
    assert list(programs("main")) == [
        "orders-api",
        "orders-consumer-1",
        "relay-orders-1",
        "relay-orders-2",
        "billing-1",
        "billing-2",
        "billing-api",
        "relay-billing-1",
        "relay-billing-2",
        "analytics-1",
        "analytics-api",
        "notifications-1",
        "mail-sink",
        "orders-housekeeper-1",
        "billing-housekeeper-1",
        "analytics-housekeeper-1",
    ]


def test_every_process_with_a_database_has_a_role_that_is_granted_something_there() -> None:
    for program in programs("main").values():
        if program.database is not None:
            assert program.role in GRANTS[program.database]


def test_the_main_namespace_has_plain_names_and_a_run_carries_its_own() -> None:
    assert in_namespace("orders.events", "main") == "orders.events"
    assert in_namespace("orders.events", "acts-7f") == "acts-7f.orders.events"
    assert database_name("orders", "acts-7f") == "acts_7f_orders"


def test_no_process_runs_as_an_owner_and_no_role_reaches_two_databases() -> None:
    used = {program.role for program in programs("main").values() if program.role}
    assert not used & {owner(database) for database in GRANTS}
    assert len(all_roles()) == len(set(all_roles()))


def test_writers_of_an_outbox_may_not_choose_its_order() -> None:
    for roles in GRANTS.values():
        for rights in roles.values():
            inserts = [right for right in rights.get("outbox", ()) if right.startswith("INSERT")]
            assert all("(" in right and " id" not in right and "xid" not in right for right in inserts)
