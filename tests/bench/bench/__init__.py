"""Measures wrensshd and its peers side by side. `sh tests/bench/run.sh --help` says how.

`runner.py` holds a run together; each group of rows is a module of `measure/`; `results.py` is what they fill, and
`report.py`, `headlines.py`, `plots.py` and `compare.py` what is made of it.
"""
