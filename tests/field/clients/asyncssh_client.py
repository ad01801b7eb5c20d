"""AsyncSSH: see test_clients.py for what a client does here."""

import asyncio
import os
import sys

import asyncssh


async def talk(port, user, key, host_key, command, up, far, down):
    known = asyncssh.import_known_hosts(f"[127.0.0.1]:{port} ssh-ed25519 {host_key}\n")
    async with asyncssh.connect("127.0.0.1", int(port), username=user, client_keys=[key], known_hosts=known,
                                config=None, agent_path=None) as connection:
        async with connection.start_sftp_client() as sftp:
            await sftp.put(up, far)
            await sftp.get(far, down)
        done = await connection.run(command)
        sys.stdout.write(done.stdout)
        return done.exit_status

NAMES = ("PORT", "USER", "KEY", "HOST_KEY", "COMMAND", "UP", "FAR", "DOWN")
sys.exit(asyncio.run(talk(*(os.environ["CLIENT_" + name] for name in NAMES))))
