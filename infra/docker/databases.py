"""Make databases and roles, as the superuser and nobody else: ``python -m infra.docker.databases``.

May be repeated; it sets every role's password to what its file says. Tables are not made here but by their owners
(``infra/migrate.py``).

Reads ``SUPERUSER_URL`` (no password inside) and ``SECRETS_DIRECTORY`` (a file per role, and ``postgres``).
"""

import os
import sys
from collections.abc import Mapping

import psycopg

from infra.postgres.roles import GRANTS, all_roles, ensure_database, ensure_functions, ensure_roles
from shared.errors import OnceError
from shared.settings import read_secret


def main(environ: Mapping[str, str]) -> None:
    folder = environ.get("SECRETS_DIRECTORY", "/run/secrets")
    url, password = environ["SUPERUSER_URL"], read_secret(f"{folder}/postgres")
    with psycopg.connect(url, password=password, autocommit=True) as connection:
        ensure_roles(connection, {role: read_secret(f"{folder}/{role}") for role in all_roles()})
        for kind in GRANTS:
            ensure_database(connection, kind, kind)
    for kind in GRANTS:
        with psycopg.connect(url, dbname=kind, password=password, autocommit=True) as connection:
            ensure_functions(connection, kind)
    print(f"{len(GRANTS)} databases, {len(all_roles())} roles", flush=True)  # noqa: T201  # the words of a one-shot


if __name__ == "__main__":
    try:
        main(os.environ)
    except (OnceError, psycopg.Error) as error:
        sys.exit(f"The databases could not be made: {str(error).strip()}")
