"""The lock of Kafka's jars: read, verified, and free of addresses."""

from pathlib import Path

import pytest

from infra.kafka import jars
from infra.kafka.jars import LOCK, Jar, JarError, read_lock

_GOOD = Jar("org.example:thing:1.0", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")  # "hello"


def test_the_lock_names_every_jar_with_a_digest_and_no_address() -> None:
    text = LOCK.read_text()
    locked = read_lock(text)
    assert "org.apache.kafka:kafka-clients:4.3.0" in {jar.coordinate for jar in locked}
    assert all(len(jar.sha256) == 64 for jar in locked)
    assert "://" not in text


def test_all_parts_of_kafka_have_one_version() -> None:
    versions = {
        jar.coordinate.split(":")[2] for jar in read_lock(LOCK.read_text()) if "org.apache.kafka:" in jar.coordinate
    }
    assert versions == {"4.3.0"}


def test_a_jar_comes_from_a_folder_flat_or_laid_out_as_a_repository(tmp_path: Path) -> None:
    for place in ("thing-1.0.jar", "org/example/thing/1.0/thing-1.0.jar"):
        source, target, draft = (tmp_path / place.replace("/", "-") / name for name in ("source", "target", "draft"))
        for folder in (target, draft, (source / place).parent):
            folder.mkdir(parents=True)
        (source / place).write_text("hello")
        jars._fetch_one(_GOOD, target, draft, {"ONCE_JARS": str(source)})
        assert (target / "thing-1.0.jar").read_text() == "hello"


def test_a_jar_with_another_digest_is_refused_and_not_kept(tmp_path: Path) -> None:
    (tmp_path / "thing-1.0.jar").write_text("hell0")
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(JarError, match="not the locked one"):
        jars._fetch_one(_GOOD, target, target, {"ONCE_JARS": str(tmp_path)})
    assert not list(target.glob("*.jar"))


def test_a_folder_without_the_jar_is_named(tmp_path: Path) -> None:
    with pytest.raises(JarError, match=r"thing-1\.0\.jar is not in"):
        jars._fetch_one(_GOOD, tmp_path, tmp_path, {"ONCE_JARS": str(tmp_path / "empty")})
