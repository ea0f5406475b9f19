"""``python -m infra.cli``: the same as ``once``, where the script's path is too long for a first line."""

from infra.cli import main

if __name__ == "__main__":
    main()
