# shellcheck shell=sh disable=SC2034,SC2154
# Plumbum for Python: commands, files and pipes on a remote machine, through OpenSSH's client
version=2.0.2
packages=$python_packages
fetch() { from_python plumbum $version; }
build() { with_python plumbum==$version pytest pytest-asyncio pytest-cov pytest-mock pytest-timeout psutil; }
play() { # without tunnels
    venv/bin/python -m pytest -v --tb=short -p no:cacheprovider -o asyncio_default_fixture_loop_scope=function --timeout 120 \
        --run-optional-tests=ssh -k 'not tunnel' tests/test_remote.py tests/test_async_remote.py tests/test_putty.py 2>&1
}
