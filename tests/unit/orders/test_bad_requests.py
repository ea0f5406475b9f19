"""Every bad request is answered with a problem document that names its fault, before anything is written."""

import io
import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

GOOD: dict[str, Any] = {
    "customer_id": "c-1",
    "email": "ada@example.org",
    "currency": "EUR",
    "lines": [{"sku": "tea", "quantity": 2, "unit_price_minor": 450}],
}


def changed(**members: Any) -> bytes:
    return json.dumps({**GOOD, **members}).encode()


def with_line(**members: Any) -> bytes:
    return changed(lines=[{**GOOD["lines"][0], **members}])


def without(member: str) -> bytes:
    return json.dumps({name: value for name, value in GOOD.items() if name != member}).encode()


def post(client: FlaskClient, body: bytes, **headers: str) -> TestResponse:
    given = {"Content-Type": "application/json", "Idempotency-Key": "k-1"} | headers
    return client.post("/orders", data=body, headers=given)


def check_problem(response: TestResponse, status: int, kind: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(response.data)
    assert response.status_code == status, document
    assert response.content_type == "application/problem+json"
    assert document["type"] == f"urn:problem-type:{kind}", document
    assert document["status"] == status
    assert document["detail"]
    assert "Traceback" not in document["detail"]
    return document


UNREADABLE = {
    "empty": b"",
    "not json": b"{",
    "trailing text": changed() + b" x",
    "a byte order mark": b"\xef\xbb\xbf" + changed(),
    "UTF-16": changed().decode().encode("utf-16"),
    "latin-1": changed(customer_id="Zo\u00eb").decode("unicode-escape").encode("latin-1"),
    "an encoded surrogate": changed().replace(b"c-1", b"\xed\xa0\x80"),
    "a raw control character": changed().replace(b"c-1", b"\x01"),
    "NaN": changed().replace(b"450", b"NaN"),
    "Infinity": changed().replace(b"450", b"-Infinity"),
    "5,000 digits": changed().replace(b"450", b"9" * 5_000),
    "nested 20,000 deep": b'{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "a member twice": changed()[:-1] + b',"currency":"USD"}',
    "a line's member twice": changed().replace(b'"quantity": 2', b'"quantity": 2, "quantity": 3'),
}

INVALID = {
    "null": b"null",
    "a list": b"[]",
    "a text": b'"order"',
    "nothing in it": b"{}",
    "no customer": without("customer_id"),
    "no e-mail": without("email"),
    "no currency": without("currency"),
    "no lines": without("lines"),
    "customer is a number": changed(customer_id=7),
    "customer is null": changed(customer_id=None),
    "customer is empty": changed(customer_id=""),
    "customer is blank": changed(customer_id="   "),
    "customer is too long": changed(customer_id="c" * 65),
    "customer with a line feed": changed(customer_id="c\n1"),
    "customer with NUL": changed(customer_id="c\x00"),
    "customer with DEL": changed(customer_id="c\x7f"),
    "customer with C1": changed(customer_id="c\x85"),
    "customer with half a surrogate pair": changed(customer_id="c\ud800"),
    "customer with the other half": changed(customer_id="\udc00c"),
    "customer with a right-to-left override": changed(customer_id="c\u202e"),
    "customer with a line separator": changed(customer_id="c\u2028"),
    "e-mail without @": changed(email="ada.example.org"),
    "e-mail with two @": changed(email="ada@home@example.org"),
    "e-mail with a space": changed(email="ada lovelace@example.org"),
    "e-mail with a second header": changed(email="ada@example.org\r\nBcc: eve@example.org"),
    "e-mail with other letters": changed(email="zo\u00eb@example.org"),
    "e-mail that ends in a line feed": changed(email="ada@example.org\n"),
    "e-mail too long": changed(email="a" * 250 + "@example.org"),
    "currency is a number": changed(currency=978),
    "lines are empty": changed(lines=[]),
    "lines are an object": changed(lines={}),
    "lines of numbers": changed(lines=[1]),
    "too many lines": changed(lines=GOOD["lines"] * 101),
    "sku is empty": with_line(sku=""),
    "sku is too long": with_line(sku="s" * 65),
    "sku with a bell": with_line(sku="\x07"),
    "sku with half a surrogate pair": with_line(sku="\udfff"),
    "no quantity": changed(lines=[{"sku": "tea", "unit_price_minor": 1}]),
    "quantity is zero": with_line(quantity=0),
    "quantity is negative": with_line(quantity=-1),
    "quantity is a fraction": with_line(quantity=1.5),
    "quantity is a whole float": with_line(quantity=1.0),
    "quantity is a text": with_line(quantity="1"),
    "quantity is true": with_line(quantity=True),
    "quantity is absurd": with_line(quantity=100_001),
    "price is zero": with_line(unit_price_minor=0),
    "price is negative": with_line(unit_price_minor=-450),
    "price is a float": with_line(unit_price_minor=4.5),
    "price beyond 64 bits": with_line(unit_price_minor=2**63),
    "price beyond 128 bits": with_line(unit_price_minor=2**130),
    "price is 1e400": with_line().replace(b"450", b"1e400"),
    "total is absurd": with_line(quantity=100_000, unit_price_minor=10**9),
    "total one above the largest": with_line(quantity=1, unit_price_minor=10**10 + 1),
    "total absurd for a currency without decimals": changed(
        currency="JPY", lines=[{"sku": "s", "quantity": 1, "unit_price_minor": 10**8 + 1}]
    ),
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_body_that_is_not_json_is_a_400(client: FlaskClient, body: bytes) -> None:
    """What cannot be read in exactly one way is refused as unreadable."""
    check_problem(post(client, body), 400, "unreadable-body")


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID.keys())
def test_an_order_that_cannot_be_taken_is_a_422(client: FlaskClient, body: bytes) -> None:
    """What can be read but not stored, totalled, mailed or printed is refused as invalid."""
    check_problem(post(client, body), 422, "invalid-order")


@pytest.mark.parametrize("currency", ["XXX", "eur", "", "EURO", "\u20ac", "E" * 10_000])
def test_an_unknown_currency_is_answered_with_the_known_ones(client: FlaskClient, currency: str) -> None:
    """The client learns which currencies there are."""
    if currency:
        detail = check_problem(post(client, changed(currency=currency)), 422, "unknown-currency")["detail"]
        assert "BHD" in detail
        assert "JPY" in detail
    else:
        check_problem(post(client, changed(currency=currency)), 422, "invalid-order")


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=latin-1"]
)
def test_another_content_type_is_a_415(client: FlaskClient, media_type: str) -> None:
    """Only JSON in UTF-8 is an order."""
    check_problem(post(client, changed(), **{"Content-Type": media_type}), 415, "unsupported-media-type")


def test_a_compressed_body_is_a_415(client: FlaskClient) -> None:
    """A body is limited by what it is, not by what it would unfold to."""
    check_problem(post(client, changed(), **{"Content-Encoding": "gzip"}), 415, "unsupported-media-type")


@pytest.mark.parametrize("key", ["", " ", "two words", "k" * 201, "cl\u00e9", "tab\tkey"])
def test_a_key_that_is_not_usable_is_a_400(client: FlaskClient, key: str) -> None:
    """A key is 1 to 200 visible ASCII characters."""
    check_problem(post(client, changed(), **{"Idempotency-Key": key}), 400, "invalid-idempotency-key")


def test_a_missing_key_is_a_400(client: FlaskClient) -> None:
    """Without a key a retry would be a second order, so there is no order without one."""
    response = client.post("/orders", data=changed(), content_type="application/json")
    check_problem(response, 400, "invalid-idempotency-key")


def test_a_body_over_the_limit_is_a_413(client: FlaskClient) -> None:
    """A body that says it is too long is not read."""
    check_problem(post(client, changed() + b" " * 65_536), 413, "request-entity-too-large")


def test_a_chunked_body_over_the_limit_is_a_413(client: FlaskClient) -> None:
    """A body that does not say how long it is, is not cut off in silence, and is not taken in for ever."""
    body = io.BytesIO(changed() + b" " * 50_000_000)
    response = client.post(
        "/orders",
        input_stream=body,
        headers={"Content-Type": "application/json", "Idempotency-Key": "k", "Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    check_problem(response, 413, "request-entity-too-large")
    assert body.tell() < 20_000_000


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/orders", {"POST"}),
        ("PUT", "/orders", {"POST"}),
        ("DELETE", "/orders/0190a5c2-0000-7000-8000-000000000000", {"GET"}),
        ("GET", "/orders/0190a5c2-0000-7000-8000-000000000000/cancel", {"POST"}),
    ],
)
def test_a_wrong_method_is_a_405_that_says_which_are_right(
    client: FlaskClient, method: str, path: str, allowed: set[str]
) -> None:
    """The header Allow names the methods that there are."""
    response = client.open(path, method=method)
    check_problem(response, 405, "method-not-allowed")
    assert allowed <= {each.strip() for each in response.headers["Allow"].split(",")}


@pytest.mark.parametrize("order_id", ["1", "none", "0190a5c2-0000-7000-8000-00000000000g", "%00", "%ff", "a" * 3_000])
def test_an_id_that_is_no_uuid_is_an_unknown_order(client: FlaskClient, order_id: str) -> None:
    """No such order can exist, which is all that a client needs to know."""
    check_problem(client.get(f"/orders/{order_id}"), 404, "unknown-order")
    check_problem(client.post(f"/orders/{order_id}/cancel"), 404, "unknown-order")


def test_an_unknown_path_is_a_problem_too(client: FlaskClient) -> None:
    """Errors of the framework have the same form as ours."""
    check_problem(client.get("/nothing/here"), 404, "not-found")


def test_a_good_order_without_a_database_is_a_503(client: FlaskClient) -> None:
    """This is what every refusal above would have been had it reached for the database."""
    response = post(client, changed())
    check_problem(response, 503, "service-unavailable")
    assert int(response.headers["Retry-After"]) > 0


def test_without_a_database_the_service_is_healthy_and_not_ready(client: FlaskClient) -> None:
    """A restart would not help, so health is no question of the database."""
    assert client.get("/healthz").status_code == 200
    check_problem(client.get("/readyz"), 503, "service-unavailable")
