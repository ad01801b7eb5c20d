"""What the models take from the C source: the tables of messages and requests, and which protections are there."""

import re
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]

# Each is there if its text is: the model is then run with 1 in place of its name, else with 0.
PROTECTIONS = {
    # transport.pml
    "OFFERS_STRICT_KEX": ("src/net/transport/kexinit.c", 'writer_bytes(message, "," STRICT_SERVER, strlen("," STRICT_SERVER));'),
    "STRICT_IF_OFFERED": ("src/net/transport/kexinit.c", "kex->strict = list_has(lists[METHOD], STRICT_CLIENT);"),
    "RESETS_OUT": ("src/net/transport/kex.c", "packet_new_keys(&connection->out, exchange->server_key, kex->strict);"),
    "RESETS_IN": ("src/net/transport/kex.c", "packet_new_keys(&connection->in, kex->client_key, kex->strict);"),
    "HASH_HAS_KEXINITS": ("src/monitor/sign.c", "at = hash_field(&hash, at, request->client_kexinit_bytes);\n"
                          "    at = hash_field(&hash, at, request->server_kexinit_bytes);"),
    "HOLDS_BACK": ("src/net/transport/connection.c", "return connection->kex.sent && !of_key_exchange"),
    # secrecy.vp
    "SECRET_HAS_KEM": ("crypto/agree.c", "        sntrup761_encapsulate(server, both, client, random);\n"),
    "SECRET_HAS_X25519": ("crypto/agree.c", "(void)crypto_hash_sha512(secret, both, sizeof(both));"),
    "HASH_HAS_SERVER_PUBLIC": ("src/monitor/sign.c", "    hash_field(&hash, at, server_public_bytes(request));\n"),
    "HASH_HAS_SECRET": ("src/monitor/sign.c", "    exchange_hash_secret(&hash, request->secret);\n"),
    "TWO_LETTERS": ("src/net/transport/kex.c", "derive_key(kex, &exchange, 'D', exchange.server_key);"),
    # login.pml
    "HASH_HAS_HOSTKEY": ("src/monitor/sign.c", "exchange_hash_string(&hash, k_s, k_s_bytes);"),
    "CHECKS_COOKIE": ("src/monitor/monitor_ipc.c",
                      "    if (monitor->login.session_id_bytes == 0 &&\n        !sign_has_cookie(sign, tail, monitor->setup->cookie)) {"),
    "KEEPS_FIRST_HASH": ("src/monitor/monitor_ipc.c", "if (login->session_id_bytes == 0) {"),
    "SIGNED_HAS_SESSION_ID": ("src/monitor/sign.c", "writer_string(&writer, login->session_id, login->session_id_bytes);"),
    "SIGNED_HAS_HOSTKEY": ("src/monitor/sign.c", "writer_string(&writer, k_s, k_s_bytes);"),
    "VERIFIES_SIGNATURE": ("src/monitor/sign.c", "!signature_verify(&signature, &grant->key, data, data_bytes)"),
    "WANTS_SESSION_ID": ("src/monitor/login.c", "if (login->session_id_bytes == 0) {"),
    "COUNTS_ATTEMPTS": ("src/monitor/login.c", "if (!has_attempts(login)) {"),
    # login.pml and processes.pml
    "COUNTS_LOGIN": ("src/monitor/login.c", "request->stage == IPC_AUTH_SIGNED && has_room(login, outcome);"),
    # processes.pml
    "GIVES_BACK_SLOT": ("src/monitor/drop_privileges.c", "admission_leave(admission);"),
    "LOOKS_AT_DEADLINE": ("src/monitor/monitor.c", "if (clock_now_ms() >= monitor->deadline_ms) {"),
    "WATCHES_CONNECTION": ("src/monitor/monitor.c", "if (ready > 0 && waiting[2].revents != 0) {\n        connection_ended(monitor);"),
    "KILLS_NETWORK": ("src/monitor/monitor.c", '"network process did not end");\n            ending_kill_network(monitor);'),
    "NEVER_WAITS": ("src/ipc/ipc_serve.c", "sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);"),
    "READER_HAS_DEADLINE": ("src/monitor/authkeys_ask.c", "while (!answer->ended && clock_now_ms() < request->deadline_ms) {"),
    "NETWORK_ENDS_WITH_MONITOR": ("src/net/sandbox.c", "prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM, 0L, 0L, 0L);"),
    "SESSION_ENDS_WITH_MONITOR": ("src/session/session_process.c", "fcntl(lifeline, F_SETSIG, SIGKILL) == 0"),
}
# What the models know: the monitor's requests, and what they have a server take during its first key exchange.
REQUESTS = {"START", "SIGN", "PROVE", "AUTH", "NOTE", "END"}
FIRST_KEX_MESSAGES = {"DISCONNECT", "IGNORE", "EXT_INFO", "KEXINIT", "KEX_ECDH_INIT", "NEWKEYS"}


class Source:
    """The files of the tree, one of them with a planted bug: path, before, after, before, after..."""

    def __init__(self, bug=None):
        self.bug = bug

    def read(self, path):
        text = (TOP / path).read_text(encoding="utf-8")
        if self.bug and self.bug[0] == path:
            for before, after in zip(self.bug[1::2], self.bug[2::2]):
                assert text.count(before) == 1, f"{path}: {before!r} stands there {text.count(before)} times"
                text = text.replace(before, after)
        return text

    def protections(self):
        return {name: int(self.read(path).count(text) == 1) for name, (path, text) in PROTECTIONS.items()}

    def evaluate(self, text, expression, names):
        """The value of a C expression of ORs, in which macros of the same file stand for others."""
        macros = dict(re.findall(r"^#define (\w+)\s+((?:.*\\\n)*.*)$", text, re.M))
        while True:
            simpler = " ".join(re.sub(r"\bIN\((\w+)\)", r"\1", expression).replace("\\", " ").split())
            simpler = re.sub(r"\b[A-Z]\w+", lambda name: str(names[name[0]]) if name[0] in names else macros[name[0]], simpler)
            if simpler == expression:
                return eval(expression, {"__builtins__": {}})  # of numbers, | and parentheses
            expression = simpler

    def phases(self):
        body = re.search(r"enum ssh_phase \{(.*?)\};", self.read("src/net/net.h"), re.S)[1]
        return re.findall(r"^\s*SSH_PHASE_(\w+)", body, re.M)

    def messages(self):
        """{name: (number, set of phases as bits)} of the rows of dispatch.c."""
        text = self.read("src/net/dispatch.c")
        numbers = dict(re.findall(r"SSH_MSG_(\w+) = (\d+)", self.read("src/wire/wire.h")))
        bits = {f"SSH_PHASE_{name}": 1 << at for at, name in enumerate(self.phases())}
        rows = re.findall(r"\{SSH_MSG_(\w+),\s*([^{}]*?),\s*(\w+)\},", text)
        assert len(rows) == text.count("{SSH_MSG_"), "dispatch.c: a row can't be read"
        return {name: (int(numbers[name]), self.evaluate(text, phases, bits)) for name, phases, _ in rows}

    def requests(self):
        """{name: set of phases as bits} of the monitor's table; START is 1, BEFORE_LOGIN 2, AFTER_LOGIN 4."""
        text = self.read("src/ipc/ipc.h")
        bits = {f"MONITOR_{name}": 1 << at for at, name in enumerate(("START", "BEFORE_LOGIN", "AFTER_LOGIN", "OVER"))}
        table = re.search(r"#define IPC_MONITOR_REQUESTS\(ROW\)((?:.*\\\n)*.*)", text)[1]
        rows = re.findall(r"\bROW\(IPC_(\w+), \w+, \w+, (\w+),", table)
        assert len(rows) == table.count("ROW("), "ipc.h: a row can't be read"
        return {name: self.evaluate(text, phases, bits) for name, phases in rows}

    def first_kex_messages(self):
        first = sum(1 << at for at, name in enumerate(self.phases()) if name in ("KEXINIT", "GUESS", "ECDH", "NEWKEYS"))
        return {name for name, (_, phases) in self.messages().items() if phases & first}

    def promela(self):
        lines = [f"#define {name} {value}" for name, value in self.protections().items()]
        phases = self.phases()
        lines += [f"#define PHASE_{name} {at}" for at, name in enumerate(phases)]
        messages = self.messages()
        lines += [f"#define {name} {number}" for name, (number, _) in messages.items()]
        between_kex = sum(1 << phases.index(name) for name in ("SERVICE", "AUTH", "OPEN"))
        lines.append(f"#define IS_OF_GUESS(message) (message >= {messages['KEX_ECDH_INIT'][0]} && "
                     f"message < {messages['USERAUTH_REQUEST'][0]})")
        lines += ["#define REFUSED 0", "#define TAKEN 1", "#define UNKNOWN 2", "#define GUESSED 3",
                  "inline dispatch(message, phase, verdict) {", "    if",
                  "    :: (phase == PHASE_GUESS || phase == PHASE_REKEY_GUESS) && IS_OF_GUESS(message) -> verdict = GUESSED",
                  "    :: else ->", "        if"]
        lines += [f"        :: message == {name} -> verdict = (({allowed} >> phase) & 1 -> TAKEN : REFUSED)"
                  for name, (_, allowed) in messages.items()]
        lines += [f"        :: else -> verdict = (({between_kex} >> phase) & 1 -> UNKNOWN : REFUSED)", "        fi", "    fi", "}"]
        lines += [f"#define {name}_PHASES {allowed}" for name, allowed in self.requests().items()]
        return "\n".join(lines) + "\n"
