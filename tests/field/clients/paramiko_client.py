"""Paramiko: it connects no further than the list of ciphers. See test_clients.py."""

import os
import sys

import paramiko

try:
    paramiko.Transport(("127.0.0.1", int(os.environ["CLIENT_PORT"]))).start_client(timeout=60)
except paramiko.SSHException as error:
    sys.exit(str(error))
