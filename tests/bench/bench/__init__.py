"""Measures wrensshd and its peers side by side. `sh tests/bench/run.sh --help` says how; README.md in this folder what."""
