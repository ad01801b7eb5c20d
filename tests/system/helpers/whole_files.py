"""Whole files, read and written in one call."""

import os


def read(path):
    with open(path, "rb") as file:
        return file.read()


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, data, owner=None, mode=None):
    """Text or bytes. Returns the path."""
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    if owner:
        os.chown(path, owner.pw_uid, owner.pw_gid)
    if mode is not None:
        os.chmod(path, mode)
    return path
