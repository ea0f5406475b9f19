"""The class room: what is in a bundle is enough, from the clone to the verdict, without a network.

Run on demand, with CLASS_ROOM=1: it downloads every wheel anew, which takes minutes.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra import load_bundle

ROOT = Path(__file__).parents[2]
PLATFORM = load_bundle.here()
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SECONDS = 900
DEMO_SECONDS = 6

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(2 * SECONDS),
    pytest.mark.skipif(not os.environ.get("CLASS_ROOM"), reason="downloads much; ask for it with CLASS_ROOM=1"),
]

ON_THE_DAY = f"""
set -e
tar -xf "$BUNDLE" effectively-once.git
git clone --quiet effectively-once.git effectively-once
cd effectively-once
make load-bundle PYTHON="$PYTHON" ARGS="$BUNDLE"
make demo PYTHON="$PYTHON" ARGS="--seconds {DEMO_SECONDS}" || failed=1
make clean
exit ${{failed:-0}}
"""
"""The commands of docs/workshop/class-room.md, and then everything is stopped."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a bundle for this machine alone; one for all takes nine times as many wheels."""
    path = tmp_path_factory.mktemp("stick") / "once-bundle.tar"
    only = ["--platform", PLATFORM, "--python", PYTHON, "--without-images", "--output", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "infra.bundle", *only], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def test_the_demo_runs_from_a_bundle_with_the_network_unplugged(
    bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A fresh clone from the archive, no cache, no way out. Red when the wheels of the bundle are not looked at."""
    folder = tmp_path_factory.mktemp("room")
    done = subprocess.run(
        [*unplugged(), "bash", "-c", ON_THE_DAY],
        cwd=folder,
        env={**without_a_way_out(folder), "BUNDLE": str(bundle), "PYTHON": python_of_the_machine()},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "PASS" in done.stdout


def unplugged() -> list[str]:
    """Run what follows in a network of its own that has nothing but the loopback; that takes root, on Linux."""
    if platform.system() != "Linux" or os.geteuid() != 0 or not shutil.which("ip"):
        return []
    return ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "unplugged"]


def without_a_way_out(home: Path) -> dict[str, str]:
    """An environment without caches and settings of this machine, in which every address outside is a dead one."""
    dead = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_INDEX_URL": dead,
        "ONCE_MAVEN_MIRROR": dead,
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), dead),
        "no_proxy": "127.0.0.1,localhost",
    }


def python_of_the_machine() -> str:
    """The Python that this environment was made of: the environment's own would show the way to its packages."""
    return str(Path(sys.base_prefix) / "bin" / f"python{PYTHON}")
