"""What the README tells people to type."""

import os

from site_setup import PROJECT


def blocks(heading):
    """The indented blocks below a heading, up to the next one."""
    with open(os.path.join(PROJECT, "README.md"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    found, block = [], []
    for line in lines[lines.index(heading) + 1:]:
        if line.startswith("    "):
            block.append(line[4:])
            continue
        if block:
            found.append("\n".join(block) + "\n")
            block = []
        if line.startswith("#"):
            break
    return found
