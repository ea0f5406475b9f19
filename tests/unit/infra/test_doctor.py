"""The doctor's judgement, apart from looking."""

from pathlib import Path

import pytest

from infra.doctor.finding import Level
from infra.doctor.machine import judge_files, judge_memory
from infra.doctor.place import check_file_system, check_path


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "drvfs", "ntfs3", "vfat"])
def test_network_and_windows_disks_are_faults_with_a_cure(kind: str) -> None:
    (finding,) = check_file_system(Path("/somewhere"), kind)
    assert finding.level is Level.FAULT
    assert kind in finding.found
    assert "ONCE_HOME" in finding.cure


@pytest.mark.parametrize("kind", ["ext4", "apfs", "btrfs", "xfs", "overlay", "tmpfs", "zfs", ""])
def test_local_disks_are_fine(kind: str) -> None:
    assert list(check_file_system(Path("/somewhere"), kind)) == []


@pytest.mark.parametrize(
    "path", ["/home/a/Dropbox/once", "/Users/a/Library/Mobile Documents/x", "/a/OneDrive - Firm/x"]
)
def test_synced_folders_are_faults(path: str) -> None:
    (finding,) = check_path(Path(path))
    assert finding.level is Level.FAULT
    assert "synced" in finding.found


@pytest.mark.parametrize("path", ["/a b/é/ü", "/a/#1 100% 'x' \"y\"", "/" + "long " * 60])
def test_odd_letters_in_a_path_are_fine(path: str) -> None:
    assert list(check_path(Path(path))) == []


def test_a_colon_in_the_path_is_a_fault() -> None:
    (finding,) = check_path(Path("/a:b"))
    assert "colon" in finding.found


def test_too_little_memory_and_too_few_files_are_warnings() -> None:
    (memory,) = judge_memory(available=1_000_000_000, needed=1_500_000_000)
    (files,) = judge_files(256)
    assert {memory.level, files.level} == {Level.WARNING}
    assert list(judge_files(4096)) == []
