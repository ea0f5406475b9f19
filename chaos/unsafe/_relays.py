"""What the relay's variants share: the way a relay is started, with one of its parts exchanged."""

import os
import sys
from collections.abc import Callable
from functools import partial

from services.relay import wiring
from services.relay.relay import Relay
from services.relay.settings import Settings
from services.relay.transports import KafkaTransport
from shared import logs, metrics
from shared.kafka import producer_config
from shared.lifecycle import run_main, stop_on_signals
from shared.settings import read

MakeKafka = Callable[[Settings], KafkaTransport]


def kafka_transport(kind: type[KafkaTransport], settings: Settings, **producer: object) -> KafkaTransport:
    """Make a transport of another kind, or with other settings of its producer."""
    config = producer_config(settings.kafka_bootstrap_servers, settings.instance) | producer
    return kind(config, wiring.topics(settings))


def run(relay: type[Relay] = Relay, kafka: MakeKafka | None = None) -> None:
    """Run a relay with this class, or this way into Kafka, in the place of the real one; ends the process."""
    sys.exit(run_main(partial(_main, relay, kafka)))


def _main(relay: type[Relay], kafka: MakeKafka | None) -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    transports = wiring.make_transports(settings)
    if kafka is not None and "event" in transports:
        transports["event"] = kafka(settings)
    wiring.build(settings, relay=relay, transports=transports).run(stop_on_signals())
