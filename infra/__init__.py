"""What the services run on, and the ``once`` command: the local stack, database roles, topics, migrations.

Imports ``shared`` and libraries; talks to services over HTTP and never imports their insides.
"""
