"""What containers need and ordinary processes do not: one-shots that prepare the system, a health check, a little load.

    keys        make up the passwords, at the first start
    databases   make databases and roles, as the superuser
    ready       say whether the process of this container can do its work
    load        keep a small stream of orders flowing, and say where to look

All of it is in the production image. The engine's socket is used by none of it (that is ``infra/compose``).
"""
