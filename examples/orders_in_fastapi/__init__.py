"""The order service in FastAPI, over SQLAlchemy's asynchronous engine with psycopg."""
