"""README and the documents it links do what they say: every command block is run, as written, on a fresh clone."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readme.documents import Block, blocks, linked, missing_line

ROOT = Path(__file__).parents[2]
BLOCKS = [
    block
    for document in linked(ROOT / "README.md")
    if document.exists()
    for block in blocks(str(document.relative_to(ROOT)), document.read_text(encoding="utf-8"))
]
RUN = [block for block in BLOCKS if block.not_run is None]
COMMAND_SECONDS = 1200


@pytest.mark.full
def test_the_readme_shows_commands_and_what_they_print() -> None:
    """Otherwise the tests below would pass by having nothing to do."""
    assert [block for block in RUN if block.document == "README.md" and block.seen]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_has_a_command_and_its_pattern_can_fail(block: Block) -> None:
    """A pattern that fits an empty output shows nothing."""
    assert block.commands
    assert not block.seen or missing_line(block.seen, "") is not None


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a fresh clone of what is committed; what its commands left running is stopped."""
    folder = tmp_path_factory.mktemp("clone") / "effectively-once"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    yield folder
    subprocess.run(["make", "--silent", "clean"], cwd=folder, env=readers(), check=False, capture_output=True)


@pytest.fixture(scope="module")
def outputs(clone: Path) -> dict[Block, str]:
    return {}


@pytest.mark.full
@pytest.mark.timeout(COMMAND_SECONDS + 60)
@pytest.mark.parametrize("block", RUN, ids=str)
def test_a_block_prints_what_one_should_see(block: Block, clone: Path, outputs: dict[Block, str]) -> None:
    """One after the other in one clone, as a reader would."""
    outputs[block] = "".join(run(command, clone) for command in block.commands)
    line = missing_line(block.seen, outputs[block])
    assert line is None, f"{line!r} is not in:\n{outputs[block][-4000:]}"


@pytest.mark.full
def test_no_pattern_fits_what_another_command_prints(outputs: dict[Block, str]) -> None:
    """The green demo's words are not to be found in the red one's output, nor the other way round."""
    for block in (each for each in outputs if each.seen):
        for other, output in outputs.items():
            if not set(block.commands) & set(other.commands):
                assert missing_line(block.seen, output) is not None, f"{block} also fits the output of {other}"


def readers() -> dict[str, str]:
    """Return the environment of somebody who has only the clone; above all no stack of ours to start, or to remove."""
    ours = {"CI", "ONCE_HOME", "PYTHONPATH", "VIRTUAL_ENV", "ARGS", "MAKEFLAGS", "MAKELEVEL"}
    return {name: value for name, value in os.environ.items() if name not in ours}


def run(command: str, folder: Path) -> str:
    """Run a command in a shell, as a reader would, and return what it printed. Verdicts are not errors here."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=readers(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode in range(5), f"`{command}` ended with {done.returncode}:\n{done.stdout[-4000:]}"
    return done.stdout
