"""Say whether the process of this container can do its work: ``python -IS infra/docker/ready.py``; exit code 0 is yes.

An HTTP service is asked whether it is ready, which includes its database. A consumer is ready when its group has given
it partitions, a mail server when it greets. Others are ready when they answer. Plain sockets and nothing of ours: it
runs every few seconds in every container.
"""

import os
import re
import socket
import sys

TIMEOUT_SECONDS = 3.0


def main() -> None:
    if port := os.environ.get("HTTP_PORT"):
        expect(" 200 ", ask(int(port), "/readyz"))
    elif os.environ.get("CONSUMER_GROUP"):
        answer = ask(int(os.environ["METRICS_PORT"]), "/metrics")
        expect(r"(?m)^consumer_partitions_assigned\{[^}]*\} [1-9]", answer)
    elif os.environ.get("MAIL_JOURNAL"):
        expect("^220 ", greeting(int(os.environ["SMTP_PORT"])))
    else:
        expect(" 200 ", ask(int(os.environ["METRICS_PORT"]), "/metrics"))


def ask(port: int, path: str) -> str:
    """Return the whole answer, head and body."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        parts = iter(lambda: connection.recv(65536), b"")
        return b"".join(parts).decode(errors="replace")


def greeting(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection:
        line = connection.recv(512).decode(errors="replace")
        connection.sendall(b"QUIT\r\n")
        return line


def expect(pattern: str, answer: str) -> None:
    if not re.search(pattern, answer):
        first = answer.partition("\n")[0].strip()
        sys.exit(f"not ready: no {pattern!r} in an answer that begins {first!r}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"not ready: {error}")
