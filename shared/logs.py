"""Structured logs: one JSON object a line on standard error, with the instance that wrote it.

A line says what happened in ``event`` and gives the particulars as fields under the field's names (event_id,
aggregate_id, aggregate_version, partition, offset, ...). No line carries a secret or an e-mail address.
"""

import logging
import sys

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor


def configure(instance: str, level: str = "INFO") -> None:
    """Set up logging for the process. Lines of libraries come out in the same shape, from WARNING on."""

    def name_instance(_logger: object, _method: str, line: EventDict) -> EventDict:
        # A processor rather than a context variable: threads start with an empty context.
        line["instance"] = instance
        return line

    steps: list[Processor] = [
        name_instance,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
    ]
    threshold = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[*steps, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=steps,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(threshold, logging.WARNING), force=True)


def get_logger(name: str) -> FilteringBoundLogger:
    logger: FilteringBoundLogger = structlog.get_logger(component=name)
    return logger
