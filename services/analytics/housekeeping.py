"""Put the housekeeper of analytics together: what it does by the clock."""

from collections.abc import Callable
from functools import partial

from services.analytics.settings import Settings
from shared import retention
from shared.database import create_engine
from shared.housekeeper import Chore, housekeeper
from shared.inbox_partitions import EVERY_SECONDS, make_days
from shared.queue_worker import Worker


def build(settings: Settings) -> Worker:
    """Make the housekeeper; its ``run`` blocks until stopped."""
    engine = create_engine(settings.database_url, settings.database_password_file, settings.instance, pool_size=1)
    chores = [
        Chore("analytics.inbox_days", EVERY_SECONDS, partial(make_days, engine)),
        Chore("analytics.retention", retention.EVERY_SECONDS, purge(settings)),
    ]
    return housekeeper(settings.instance, settings.redis_url, settings.housekeeping_queue, chores)


def purge(settings: Settings) -> Callable[[], dict[str, object]]:
    """Return the deletion of what is too old, by this service's rules. Raises ConfigurationError for wrong ones."""
    rules = retention.Rules.checked(settings.dedup_window_days, 0, settings.discarded_kept_days)
    access = (settings.database_url, settings.database_password_file, settings.instance)
    return partial(retention.chore, access, rules, outbox=False)
