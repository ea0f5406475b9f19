"""The image without a command: say what it is for."""

import sys

sys.exit(
    "This image holds all services, and the command says which one to be: `python -m services.orders api`, "
    "for example. docker-compose.yml has them all; start there with `docker compose up`."
)
