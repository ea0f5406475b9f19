"""``once env``: let PostgreSQL's own programs find the local stack, by the file that has the password."""

import shlex
from gettext import gettext as _

import click

from infra.local.errors import StackError
from infra.local.ports import HOST
from infra.local.postgres import SUPERUSER
from infra.local.stack import LocalStack
from infra.stack import open_stack


@click.command()
def env() -> None:
    """Print what lets psql and pg_dump find the databases: eval "$(once env)", then psql orders."""
    stack = open_stack()
    if not stack.is_local:
        raise StackError(_("In containers there is no need: docker compose exec postgres psql -U postgres orders"))
    for name, value in variables(stack).items():
        click.echo(f"export {name}={shlex.quote(value)}")
    click.echo(f"export PATH={shlex.quote(str(stack.postgres().program('psql').parent))}:$PATH")


def variables(stack: LocalStack) -> dict[str, str]:
    """Return libpq's variables. Of a pair they lead to the server that is the primary now."""
    primary = next((each for each in stack.databases() if not each.is_standby), stack.postgres())
    return {
        "PGHOST": HOST,
        "PGPORT": str(primary.port),
        "PGUSER": SUPERUSER,
        "PGPASSFILE": str(stack.home.password_file(SUPERUSER)),
    }
