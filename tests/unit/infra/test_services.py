"""The table of processes, namespaces, and rights."""

import re
from collections import Counter

from infra.local.services import GROUPS, TOPICS, database_name, in_namespace, programs
from infra.postgres.roles import GRANTS, all_roles, owner

COPIES = {"relay-orders": 2, "relay-billing": 2, "billing": 2}
"""All others are alone."""


def test_the_default_copies_are_two_relays_a_database_two_of_billing_and_one_of_the_rest() -> None:
    copies = Counter(re.sub(r"(-consumer|-housekeeper)?-\d$", r"\1", name) for name in programs("main"))
    assert copies.keys() >= {"orders-api", "orders-consumer", "billing-api", "analytics", "notifications", "mail-sink"}
    assert copies == {name: COPIES.get(name, 1) for name in copies}


def test_every_group_has_members_an_api_and_a_housekeeper() -> None:
    """A parking lot that no API shows, or an inbox that nobody purges, would be found at night."""
    table = programs("main")
    for service, group in GROUPS.items():
        assert {f"{service}-api", f"{service}-housekeeper-1", *group.members} <= table.keys()
        assert {table[member].group for member in group.members} == {service}
        assert set(group.topics) <= set(TOPICS.values())


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
