"""Databases, roles and their rights: one owner per database, one role per kind of process."""
