"""The command queue's client side: how a producer of commands reaches Celery over Redis.

JSON only: a pickled message would let whoever writes to Redis run code here. No result backend: the ledger of the
receiver says what was done.
"""

from celery import Celery


def queue_client(redis_url: str, name: str) -> Celery:
    """Make a Celery application that can only send. Opens nothing yet; not to be made before a fork."""
    app = Celery(name, broker=redis_url, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 4},
        broker_connection_retry=False,
    )
    return app
