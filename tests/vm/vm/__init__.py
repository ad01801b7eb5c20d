"""Machines for tests: real kernels under qemu. A machine of tests/vm/machines is a module, and one of
variants.py an object, with

- a docstring, of which the first line is what it shows;
- `PROGRAMS`, what it needs of the host: it is skipped without one of them;
- `ARCHITECTURES`, for which release binaries are built;
- `LONG`, true if it runs with --all only;
- `SECONDS`, about how long it takes: those that take longest are begun first;
- `run(place)`, with a `Place` (place.py). It raises Failed if something is wrong, and Skipped if it can't be tried; what it
  returns, a text with figures or nothing, is shown.
"""
