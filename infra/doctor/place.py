"""The folder that data go to.

Databases need a local disk that keeps rights and flushes when asked. Synced folders, network disks and a Windows disk
seen from WSL do not, and fail late and strangely; so they are named before anything is written there.
"""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from gettext import gettext as _
from pathlib import Path

import psutil

from infra.doctor.finding import Finding, fault, ok, warning
from infra.local.stack import LocalStack

ROOM_NEEDED_BYTES = 500_000_000
ROOM_WANTED_BYTES = 2_000_000_000
SYNCED_FOLDERS = ("Dropbox", "OneDrive", "Google Drive", "GoogleDrive", "CloudStorage", "Mobile Documents", "Nextcloud")
_NETWORK = ("nfs", "cifs", "smb", "afp", "sshfs", "webdav", "davfs", "vboxsf", "vmhgfs", "prl_fs")
_WINDOWS = ("9p", "drvfs", "ntfs", "fuseblk", "exfat", "vfat", "msdos")


def check_place(stack: LocalStack) -> Iterable[Finding]:
    root = stack.home.root
    findings = [
        *check_path(root),
        *check_file_system(root, file_system(root)),
        *_check_rights(root),
        *_check_room(root),
    ]
    return findings or [ok(_("data folder"), str(root))]


def check_path(root: Path) -> Iterator[Finding]:
    """Look at the path's letters and at folders that a program keeps in step with another machine."""
    cure = _("Set ONCE_HOME to a folder elsewhere, and start again.")
    text = str(root)
    if ":" in text or "\n" in text:
        yield fault(
            _("data folder"),
            _("{path} has a colon or a line break in its name: Java cannot take it.").format(path=root),
            cure,
        )
    synced = next((part for part in root.parts if part.startswith(SYNCED_FOLDERS)), None)
    if synced:
        found = _("{path} lies in a synced folder ({name}), which would copy and lock files of a running database.")
        yield fault(_("data folder"), found.format(path=root, name=synced), cure)


def check_file_system(root: Path, kind: str) -> Iterator[Finding]:
    """Judge the kind of file system, by the name that the operating system gives it."""
    cure = _("Set ONCE_HOME to a folder on a local disk (in WSL: below your Linux home), and start again.")
    if kind.startswith(_NETWORK) or kind.startswith("fuse.sshfs"):
        found = _("{path} is on a network disk ({kind}), where a database cannot be sure that a write is kept.")
        yield fault(_("data folder"), found.format(path=root, kind=kind), cure)
    elif kind.startswith(_WINDOWS):
        found = _("{path} is on a Windows disk ({kind}), which does not keep the rights that PostgreSQL demands.")
        yield fault(_("data folder"), found.format(path=root, kind=kind), cure)


def file_system(path: Path) -> str:
    """Return the kind of file system that a path is on, or an empty string."""
    existing = _existing(path)
    mounts = [part for part in psutil.disk_partitions(all=True) if existing.is_relative_to(part.mountpoint)]
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype.lower() if mounts else ""


def _check_rights(root: Path) -> Iterator[Finding]:
    place = _existing(root)
    try:
        with tempfile.NamedTemporaryFile(dir=place) as file:
            os.chmod(file.name, 0o600)
            kept = stat.S_IMODE(os.stat(file.name).st_mode) == 0o600
    except OSError as error:
        cure = _("Give yourself the right to write there, or set ONCE_HOME to another folder.")
        yield fault(
            _("data folder"), _("{path} cannot be written to: {why}.").format(path=place, why=error.strerror), cure
        )
        return
    if not kept:
        cure = _("Set ONCE_HOME to a folder on a local disk, and start again.")
        yield fault(
            _("data folder"), _("{path} does not keep file rights, which PostgreSQL demands.").format(path=place), cure
        )


def _check_room(root: Path) -> Iterator[Finding]:
    free = psutil.disk_usage(str(_existing(root))).free
    cure = _("Make room, or set ONCE_HOME to a folder on a larger disk.")
    found = _("{free:.1f} GB free where {path} is.").format(free=free / 1e9, path=root)
    if free < ROOM_NEEDED_BYTES:
        yield fault(_("disk"), found, cure)
    elif free < ROOM_WANTED_BYTES:
        yield warning(_("disk"), found, cure)
    else:
        yield ok(_("disk"), found)


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())
