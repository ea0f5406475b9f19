"""``python -m chaos.checker DIRECTORY``: judge evidence with nothing installed. The exit code is the verdict's."""

import sys
from pathlib import Path

from chaos.checker.verdict import judge, to_text

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m chaos.checker DIRECTORY")
    verdict = judge(Path(sys.argv[1]))
    sys.stdout.write(to_text(verdict) + "\n")
    sys.exit(verdict.exit_code)
