"""Put analytics' housekeeper together: what it does by the clock."""

from services.analytics.settings import Settings
from shared.housekeeper import housekeeper
from shared.queue_worker import Worker


def build(settings: Settings) -> Worker:
    """Make the housekeeper; its ``run`` blocks until stopped."""
    return housekeeper(settings.instance, settings.redis_url, settings.housekeeping_queue, chores=[])
