"""The admin endpoints of parking lots, the same for every service that has one.

    GET  /admin/parked?lot=&limit=&after=     entries in the order of their arrival, without payloads
    GET  /admin/parked/LOT/ID                 one entry, whole
    POST /admin/parked/LOT/ID/redrive         ask for another try: 202, since its owner makes it
    POST /admin/parked/LOT/ID/discard         give it up: {"reason": "…"}

Only for those who bear the token. Bytes that are not UTF-8 are shown with escapes; ``payload_base64`` has them exactly.
"""

import base64
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from flask import Blueprint, request
from sqlalchemy import Engine
from werkzeug.exceptions import BadRequest, NotFound

from shared.database import transaction
from shared.errors import RefusedError
from shared.http.problems import problem
from shared.http.tokens import require_token
from shared.parking import Entry, Lot, UnknownEntryError

MOST_ENTRIES: Final = 1_000


class _Discard(msgspec.Struct, frozen=True):
    reason: str


def parked_blueprint(engine: Engine, lots: Sequence[Lot], token_file: str) -> Blueprint:
    """Make the endpoints over a service's lots. Raises ConfigurationError when the token's file is not usable."""
    parked = Blueprint("parked", __name__, url_prefix="/admin/parked")
    parked.before_request(require_token(token_file))
    parked.register_error_handler(UnknownEntryError, lambda error: problem(404, "Unknown entry", str(error)))
    parked.register_error_handler(RefusedError, lambda error: problem(409, "Refused", str(error)))
    by_name: dict[str, Lot] = {lot.name: lot for lot in lots}

    def asked_lot(name: str) -> Lot:
        if name not in by_name:
            raise NotFound(f"This service has no lot {name!r}. It has: {', '.join(by_name)}.")
        return by_name[name]

    @parked.get("")
    def list_entries() -> dict[str, Any]:
        wanted = request.args.get("lot")
        limit, after = _limit(), request.args.get("after")
        if after is not None and wanted is None:
            raise BadRequest("An id belongs to one lot: say ?lot= beside ?after=.")
        with transaction(engine) as connection:
            entries = [
                entry
                for lot in ([asked_lot(wanted)] if wanted else lots)
                for entry in lot.entries(connection, limit=limit, after=after)
            ]
        return {"entries": [in_json(entry) for entry in entries]}

    @parked.get("/<lot>/<entry_id>")
    def show_entry(lot: str, entry_id: str) -> dict[str, Any]:
        with transaction(engine) as connection:
            return in_json(asked_lot(lot).entry(connection, entry_id))

    @parked.post("/<lot>/<entry_id>/redrive")
    def redrive(lot: str, entry_id: str) -> tuple[dict[str, Any], int]:
        with transaction(engine) as connection:
            asked_lot(lot).redrive(connection, entry_id)
            return in_json(asked_lot(lot).entry(connection, entry_id)), 202

    @parked.post("/<lot>/<entry_id>/discard")
    def discard(lot: str, entry_id: str) -> dict[str, Any]:
        reason = _reason()
        with transaction(engine) as connection:
            asked_lot(lot).discard(connection, entry_id, reason)
            return in_json(asked_lot(lot).entry(connection, entry_id))

    return parked


def in_json(entry: Entry) -> dict[str, Any]:
    """Write an entry as an answer has it; the payload only where it was read."""
    written: dict[str, Any] = {name: getattr(entry, name) for name in Entry.__slots__ if name != "payload"}
    written["event_id"] = str(entry.event_id) if entry.event_id else None
    written["parked_at"] = entry.parked_at.isoformat()
    written["headers"] = [[name, _text(value)] for name, value in entry.headers]
    if entry.payload is not None:
        written["payload"] = _text(entry.payload)
        written["payload_base64"] = base64.b64encode(entry.payload).decode()
    return written


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode(errors="backslashreplace")


def _limit() -> int:
    try:
        limit = int(request.args.get("limit", "100"))
    except ValueError:
        limit = 0
    if not 1 <= limit <= MOST_ENTRIES:
        raise BadRequest(f"The limit must be a number from 1 to {MOST_ENTRIES}.")
    return limit


def _reason() -> str:
    try:
        reason = msgspec.json.decode(request.get_data(), type=_Discard).reason.strip()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        reason = ""
    if not reason:
        raise BadRequest('Discarding needs a reason, which stays on record: send {"reason": "…"}.')
    return reason
