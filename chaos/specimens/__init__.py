"""Evidence made by hand: what a faultless run would have left behind, to be spoiled by tests and to be timed.

It shares no code with the checker and imports nothing of the system: it is the third opinion in the checker's tests.
"""

from chaos.specimens.history import History
from chaos.specimens.rows import PARTITIONS, Row, lane_of
from chaos.specimens.shapes import every_shape
from chaos.specimens.varied import Varied

__all__ = ["PARTITIONS", "History", "Row", "Varied", "every_shape", "lane_of"]
