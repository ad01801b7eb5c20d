"""What the pages for users tell people to type."""

import os
import re
import textwrap

from site_setup import PROJECT

PAGES = ("README.md", "packaging/README.md", "packaging/initramfs/README.md")


def read(page):
    with open(os.path.join(PROJECT, page), encoding="utf-8") as file:
        return file.read()


def blocks(page, heading):
    """The indented blocks below a heading of a page, up to the next heading."""
    lines = read(page).splitlines()
    found, block = [], []
    for line in lines[lines.index(heading) + 1:]:
        if line.startswith("    "):
            block.append(line)
            continue
        if block:
            found.append(textwrap.dedent("\n".join(block)) + "\n")
            block = []
        if line.startswith("#"):
            break
    return found


def example(first, heading="", page="man/wrensshd.8"):
    """The block of a man page that begins like this, as a reader sees it; the first one after `heading`."""
    block = re.search(re.escape(heading) + r".*?\.Bd [^\n]*\n(" + re.escape(first) + r".*?)\n\.Ed",
                      read(page), re.S)
    return block[1].replace("\\e", "\\").replace("\\&", "") + "\n"
