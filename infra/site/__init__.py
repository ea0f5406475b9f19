"""The documents as a site that is read offline: ``make docs`` writes it to build/site.

Sphinx with MyST and Furo, from a lock of their own (requirements/docs.txt) in an environment of their own, since
nothing else needs them. A link that leads nowhere stops the build.
"""
