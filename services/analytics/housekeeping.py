"""Put analytics' housekeeper together: what it does by the clock."""

from functools import partial

from services.analytics.settings import Settings
from shared.database import create_engine
from shared.housekeeper import Chore, housekeeper
from shared.inbox_partitions import EVERY_SECONDS, make_days
from shared.queue_worker import Worker


def build(settings: Settings) -> Worker:
    """Make the housekeeper; its ``run`` blocks until stopped."""
    engine = create_engine(settings.database_url, settings.database_password_file, settings.instance, pool_size=1)
    chores = [Chore("analytics.inbox_days", EVERY_SECONDS, partial(make_days, engine))]
    return housekeeper(settings.instance, settings.redis_url, settings.housekeeping_queue, chores)
