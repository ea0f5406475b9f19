"""Become the process that a launch file describes: ``python -m infra.local.launch NAME.json``.

Why not let the supervisor start it: its configuration file has quoting rules of its own, and a path may hold anything
(spaces, ``#``, ``%``, letters of any language). A JSON file has no such trouble. The launcher also writes down its
process id, which stays the same across exec, so that a process whose supervisor was killed can be found and ended.

Runs before every process of the stack, so it imports little.
"""

import json
import os
import pwd
import sys
from pathlib import Path

import psutil


def main(path: Path) -> None:
    """Replace this process by the described one; returns never."""
    launch = json.loads(path.read_text(encoding="utf-8"))
    note = {"pid": os.getpid(), "created": psutil.Process().create_time()}
    path.with_suffix(".pid").write_text(json.dumps(note), encoding="utf-8")
    # The folder first: the user may not be allowed to walk to it by name.
    os.chdir(launch["directory"])
    if launch["user"]:
        become(launch["user"])
    os.execve(launch["argv"][0], launch["argv"], launch["environment"])  # noqa: S606  # no shell, on purpose


def become(name: str) -> None:
    """Give up being root for another user, for good."""
    user = pwd.getpwnam(name)
    os.initgroups(name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
