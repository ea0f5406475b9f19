"""Put orders' housekeeper together: what it does by the clock."""

from services.orders.settings import HousekeeperSettings
from shared.housekeeper import housekeeper
from shared.queue_worker import Worker


def build(settings: HousekeeperSettings) -> Worker:
    """Make the housekeeper; its ``run`` blocks until stopped."""
    return housekeeper(settings.instance, settings.redis_url, settings.housekeeping_queue, chores=[])
