"""The bundle for a class room: what gets in, what is taken out on which machine, and what is refused."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra import load_bundle, setup

LOCKS = "locks of this checkout"
FILES = {
    "wheels/flask-3.1-py3-none-any.whl": b"any",
    "wheels/mypy-2-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": b"linux x86",
    "wheels/mypy-2-cp313-cp313-manylinux_2_28_aarch64.whl": b"linux arm",
    "wheels/mypy-2-cp311-cp311-macosx_11_0_arm64.whl": b"mac",
    "jars/kafka_2.13-4.3.0.jar": b"jar",
}


def manifest(**changed: object) -> dict[str, Any]:
    files = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    sound = {"platforms": ["Linux x86-64"], "pythons": ["3.11"], "locks": LOCKS, "images": [], "files": files}
    return {**sound, **changed}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take files out into a folder of the test's own."""
    monkeypatch.setattr(setup, "BUNDLED_WHEELS", tmp_path / "wheels")
    monkeypatch.setattr(setup, "BUNDLED_JARS", tmp_path / "jars")
    monkeypatch.setattr(setup, "LOADED", tmp_path / "wheels" / "loaded")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[tarfile.TarFile]:
    path = tmp_path / "bundle.tar"
    with tarfile.open(path, "w") as writing:
        for name, content in {setup.MANIFEST: json.dumps(manifest()).encode(), **FILES}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            writing.addfile(member, io.BytesIO(content))
    with tarfile.open(path) as reading:
        yield reading


@pytest.mark.parametrize(
    ("machine", "kinds"),
    [
        ("Linux x86-64", ["none-any", "x86_64"]),
        ("Linux arm64", ["none-any", "aarch64"]),
        ("macOS arm64", ["none-any", "aarch64", "macosx"]),
    ],
)
def test_a_machine_takes_its_own_wheels_and_a_mac_those_of_its_containers_too(machine: str, kinds: list[str]) -> None:
    """A room of unlike machines shares one archive, and no machine keeps what it cannot use."""
    taken = {name for name, _ in load_bundle.fitting(manifest()["files"], machine)}
    assert taken == {name for name in FILES if name.endswith(".jar") or any(kind in name for kind in kinds)}


def test_what_is_taken_out_is_what_the_list_says(archive: tarfile.TarFile, tmp_path: Path) -> None:
    """Whole files, in the folders where set-up looks."""
    found = load_bundle.read_manifest(archive)
    assert load_bundle.take_out(archive, found) >= 3
    assert (tmp_path / "jars" / "kafka_2.13-4.3.0.jar").read_bytes() == b"jar"
    assert not list(tmp_path.rglob("*.part"))


def test_a_damaged_file_is_refused_and_not_kept(archive: tarfile.TarFile, tmp_path: Path) -> None:
    """A stick that lost a block is found here and not by an odd error of pip's. Red without the comparison."""
    files = {**manifest()["files"], "jars/kafka_2.13-4.3.0.jar": "0" * 64}
    with pytest.raises(setup.SetupError, match="damaged"):
        load_bundle.take_out(archive, manifest(files=files))
    assert not (tmp_path / "jars" / "kafka_2.13-4.3.0.jar").exists()


def test_nothing_leaves_the_folders_for_bundles(tmp_path: Path) -> None:
    """A name with dots in it is a name like any other."""
    sly = {"jars/../../evil.jar": "", "wheels/../../x-1-py3-none-any.whl": "", "elsewhere/thing": ""}
    targets = [target for _, target in load_bundle.fitting(sly, "Linux x86-64")]
    assert {target.parent for target in targets} == {tmp_path / "jars", tmp_path / "wheels"}


@pytest.mark.parametrize(
    ("changed", "machine", "python", "words"),
    [
        ({"locks": "others"}, "Linux x86-64", "3.11", "other lock files"),
        ({}, "macOS arm64", "3.11", "is macOS arm64"),
        ({}, "Linux x86-64", "3.12", "with Python 3.12"),
    ],
)
def test_a_bundle_for_something_else_is_refused_with_the_way_out(
    changed: dict[str, object], machine: str, python: str, words: str
) -> None:
    with pytest.raises(setup.SetupError, match=words):
        load_bundle.refuse_misfit(manifest(**changed), LOCKS, machine, python)


def test_a_file_that_is_no_bundle_is_named(tmp_path: Path) -> None:
    for content in (b"not a tar at all", b""):
        (tmp_path / "thing").write_bytes(content)
        with pytest.raises(setup.SetupError, match="bundle"):
            load_bundle.load(tmp_path / "thing")


def test_set_up_takes_a_loaded_bundle_until_the_locks_change(tmp_path: Path) -> None:
    """Later locks name other wheels: then the network is asked again. Red when the mark is not compared."""
    (tmp_path / "wheels").mkdir()
    assert setup.bundled_wheels() is None
    setup.LOADED.write_text(setup.locks_digest())
    assert setup.bundled_wheels() == str(tmp_path / "wheels")
    setup.LOADED.write_text("of last month")
    assert setup.bundled_wheels() is None
