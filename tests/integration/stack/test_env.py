"""``once env``: whoever has psql's name finds the databases, and no password is told on the way."""

import os
import subprocess
import sys

from infra.local.home import PROJECT
from infra.local.stack import LocalStack


def told(stack: LocalStack, command: str) -> str:
    once = f"{sys.executable} -m infra.cli"
    done = subprocess.run(
        ["bash", "-c", command.replace("once", once)],
        cwd=PROJECT,
        env={**os.environ, "ONCE_HOME": str(stack.home.root), "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_psql_finds_the_databases(stack: LocalStack) -> None:
    """With the programs that come with the stack. Seen red without the file of the password."""
    query = 'psql --no-psqlrc --no-password --tuples-only --no-align --command="SELECT current_user" postgres'
    assert told(stack, f'eval "$(once env)"; {query}') == "postgres"
    programs = told(stack, 'eval "$(once env)"; command -v pg_dump')
    assert programs == str(stack.postgres().program("pg_dump"))


def test_no_password_is_told(stack: LocalStack) -> None:
    assert stack.home.secret("postgres") not in told(stack, "once env")
    assert stack.home.password_file("postgres").stat().st_mode & 0o777 == 0o600
