"""Finds the bench suite for the tests: the scripts beside the package `bench` are used by themselves."""

import os
import subprocess
import sys

PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
FOLDER = os.path.join(PROJECT, "tests", "bench")
sys.path.insert(0, FOLDER)


def compile_helper(source, folder):
    """Builds a helper in C for this test."""
    program = os.path.join(folder, os.path.basename(source)[:-2])
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-I", os.path.join(PROJECT, "src", "base"), "-o", program,
                    os.path.join(FOLDER, "helpers", source)], check=True)
    return program
