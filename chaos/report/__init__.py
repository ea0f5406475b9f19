"""``report.html``: what happened in a run, to be looked at. Made from the evidence files alone; it judges nothing.

One file without any outside resource and without a script: charts are drawn here as SVG, so that it opens from a mail
or an archive in ten years, follows the reader's light or dark setting, and prints.
"""

from chaos.report.page import write

__all__ = ["write"]
