"""How commands and expectations are read from a document."""

from pathlib import Path

import pytest

from tests.readme.documents import blocks, linked, missing_line

DOCUMENT = """
# Title

```console
$ make demo
$ curl -s \\
    http://127.0.0.1
```

<!-- you should see -->

```text
PASS 528 orders
first … done
```

<!-- not run: it takes an hour -->
```console
$ make soak
```

```python
print("not a command")
```
"""


def test_commands_are_read_with_what_one_should_see() -> None:
    """Continued lines are one command."""
    first, second = blocks("README.md", DOCUMENT)
    assert first.commands == ("make demo", "curl -s      http://127.0.0.1")
    assert first.seen == ("PASS 528 orders", "first … done")
    assert first.not_run is None
    assert (second.commands, second.seen, second.not_run) == (("make soak",), (), "it takes an hour")


@pytest.mark.parametrize(
    "output",
    [
        "PASS 1 orders\nfirst done",
        "\x1b[1mPASS\x1b[0m   1,024 orders\nfirst of all is done",
        "x PASS 3.5 orders y\n\nfirst  done",
    ],
)
def test_numbers_colours_and_spaces_may_differ(output: str) -> None:
    """A run is never the same twice."""
    assert missing_line(("PASS 528 orders", "first … done"), output) is None


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("", "PASS 528 orders"),
        ("FAIL 528 orders\nfirst done", "PASS 528 orders"),
        ("first done\nPASS 528 orders", "first … done"),
        ("PASS 528 orders\nfirst\ndone", "first … done"),
    ],
)
def test_other_words_another_order_and_nothing_at_all_do_not_fit(output: str, line: str) -> None:
    """A pattern can fail."""
    assert missing_line(("PASS 528 orders", "first … done"), output) == line


def test_links_to_documents_are_followed_once(tmp_path: Path) -> None:
    """Those of this project; the web is left alone."""
    readme = tmp_path / "README.md"
    readme.write_text("[a](docs/a.md) [b](docs/b.md#part) [a](docs/a.md) [web](https://example.org/c.md) [code](x.py)")
    assert linked(readme) == [readme, tmp_path / "docs/a.md", tmp_path / "docs/b.md"]
