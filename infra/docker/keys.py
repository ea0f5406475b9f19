"""Make up every password of the system at its first start: ``python -m infra.docker.keys``.

Invariant: a secret that exists is never replaced, since databases were made with it. Each is a file of its own in
``SECRETS_DIRECTORY``, and a container sees those alone that are mounted into it. That, and not the mode of the files,
keeps them apart: the server programs read them as other users.
"""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from infra.postgres.roles import all_roles

NAMES = ("postgres", "admin-token", "grafana")
"""Secrets that belong to no database role."""


def ensure_secrets(folder: Path, names: Iterable[str]) -> list[str]:
    """Write each secret that is missing, and return the names of the new ones. A file appears whole or not at all."""
    return [name for name in names if _write_once(folder / name)]


def _write_once(path: Path) -> bool:
    if path.exists():
        return False
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(secrets.token_urlsafe(24) + "\n", encoding="ascii")
    draft.chmod(0o444)
    draft.replace(path)
    return True


def main() -> None:
    folder = Path(os.environ.get("SECRETS_DIRECTORY", "/run/secrets"))
    made = ensure_secrets(folder, [*NAMES, *all_roles()])
    print(f"{len(made)} passwords made up" if made else "the passwords are there", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
