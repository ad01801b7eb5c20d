/* Makes requests of ipc/ipc.h, and changes them. */
#include "hostile.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "log.h"
#include "process.h"
#include "wire.h"

#define ALL_LAYERS (SANDBOX_REQUIRED_AS_ROOT | SANDBOX_LANDLOCK)

/* From the table of ipc.h. */
#define MONITORS(type, name, tail_bytes, phases, reply_bytes)                                      \
    [type] = {TO_MONITOR, phases, reply_bytes},
#define SESSIONS(type, name, tail_bytes, phases, reply_bytes) [type] = {TO_SESSION, 0, reply_bytes},
static const struct {
    enum side side;
    unsigned phases; /* of the monitor */
    size_t reply_bytes;
} requests[IPC_TYPES] = {IPC_MONITOR_REQUESTS(MONITORS) IPC_SESSION_REQUESTS(SESSIONS)};

enum side side_of(uint32_t type)
{
    return type < IPC_TYPES ? requests[type].side : TO_MONITOR;
}

size_t reply_bytes_of(uint32_t type)
{
    return type < IPC_TYPES ? requests[type].reply_bytes : 0;
}

bool may_come(uint32_t type, unsigned phase)
{
    return (requests[type].phases & phase) != 0;
}

/* ---- valid requests -------------------------------------------------------------------------- */

static void begin(struct attack *attack, uint32_t type, size_t bytes)
{
    memset(attack->message.raw, 0, bytes);
    attack->message.type = type;
    attack->bytes = bytes;
}

static void add_tail(struct attack *attack, const void *tail, size_t bytes)
{
    memcpy(attack->message.raw + attack->bytes, tail, bytes);
    attack->bytes += bytes;
}

void make_start(struct attack *attack)
{
    begin(attack, IPC_START, sizeof(struct ipc_start));
    attack->message.start.layers = ALL_LAYERS;
}

void make_sign(struct attack *attack, bool hybrid)
{
    size_t publics = hybrid ? AGREE_HYBRID_CLIENT_BYTES + AGREE_HYBRID_SERVER_BYTES
                            : AGREE_X25519_BYTES + AGREE_X25519_BYTES;
    struct ipc_sign *sign = &attack->message.sign;
    begin(attack, IPC_SIGN, sizeof(*sign));
    sign->hybrid = hybrid ? 1 : 0;
    sign->client_version_bytes = 1 + dice_below(&attack->dice, LIMIT_VERSION_LINE_BYTES);
    sign->client_kexinit_bytes = 1 + dice_below(&attack->dice, 2048);
    sign->server_kexinit_bytes =
        1 + SSH_COOKIE_BYTES + dice_below(&attack->dice, LIMIT_KEXINIT_BYTES - SSH_COOKIE_BYTES);
    dice_fill(&attack->dice, sign->secret, hybrid ? 64 : 32);
    size_t tail = sign->client_version_bytes + sign->client_kexinit_bytes +
                  sign->server_kexinit_bytes + publics;
    uint8_t *v_c = attack->message.raw + attack->bytes;
    dice_fill(&attack->dice, v_c, tail);
    if (attack->session_id_bytes == 0) {
        uint8_t *i_s = v_c + sign->client_version_bytes + sign->client_kexinit_bytes;
        memcpy(i_s + 1, attack->cookie, sizeof(attack->cookie));
    }
    attack->bytes += tail;
}

void make_prove(struct attack *attack)
{
    begin(attack, IPC_PROVE, sizeof(struct ipc_prove));
}

/* What a client signs (RFC 4252 section 7). Deliberately not shared with the monitor, which it
 * checks. */
static size_t signed_data(uint8_t out[static 1024], const struct attack *attack, const char *user,
                          bool hostbound, const uint8_t *blob, size_t blob_bytes)
{
    struct writer writer;
    writer_init(&writer, out, 1024);
    writer_string(&writer, attack->session_id, attack->session_id_bytes);
    writer_u8(&writer, 50);
    writer_text(&writer, user);
    writer_text(&writer, "ssh-connection");
    writer_text(&writer, hostbound ? "publickey-hostbound-v00@openssh.com" : "publickey");
    writer_u8(&writer, 1);
    writer_text(&writer, "ssh-ed25519");
    writer_string(&writer, blob, blob_bytes);
    return writer.failed || hostbound ? 0 : writer.used;
}

void make_auth(struct attack *attack, uint32_t stage, const struct key *key, const char *user)
{
    struct ipc_auth *auth = &attack->message.auth;
    uint8_t data[1024];
    begin(attack, IPC_AUTH, sizeof(*auth));
    auth->stage = stage;
    auth->key_type = IPC_KEY_ED25519;
    auth->blob_bytes = sizeof(key->blob);
    snprintf(auth->user, sizeof(auth->user), "%s", user);
    snprintf(auth->algorithm, sizeof(auth->algorithm), "ssh-ed25519");
    size_t bytes = signed_data(data, attack, user, false, key->blob, sizeof(key->blob));
    if (stage == IPC_AUTH_SIGNED) {
        crypto_sign_detached(auth->signature, NULL, data, bytes, key->secret_key);
    }
    add_tail(attack, key->blob, sizeof(key->blob));
}

/* What the network process sends for the method `none`. */
void make_keyless(struct attack *attack, const char *user)
{
    struct ipc_auth *auth = &attack->message.auth;
    begin(attack, IPC_AUTH, sizeof(*auth));
    auth->stage = IPC_AUTH_SIGNED;
    auth->key_type = IPC_KEY_UNSUPPORTED;
    snprintf(auth->user, sizeof(auth->user), "%s", user);
    snprintf(auth->algorithm, sizeof(auth->algorithm), "none");
}

bool is_login_valid(const struct attack *attack)
{
    const struct ipc_auth *auth = &attack->message.auth;
    const struct key *listed = &attack->world->listed;
    const uint8_t *blob = attack->message.raw + sizeof(*auth);
    uint8_t data[1024];
    if (attack->anybody) {
        return auth->type == IPC_AUTH;
    }
    if (attack->bytes != sizeof(*auth) + sizeof(listed->blob) || auth->type != IPC_AUTH ||
        auth->key_type != IPC_KEY_ED25519 ||
        strncmp(auth->user, "alice", sizeof(auth->user)) != 0 ||
        memcmp(blob, listed->blob, sizeof(listed->blob)) != 0) {
        return false;
    }
    if (auth->stage == IPC_AUTH_PROBE) {
        return true;
    }
    if (attack->session_id_bytes == 0) {
        return false;
    }
    size_t bytes =
        signed_data(data, attack, "alice", auth->hostbound != 0, blob, sizeof(listed->blob));
    return bytes > 0 &&
           crypto_sign_verify_detached(auth->signature, data, bytes, listed->public_key) == 0;
}

void make_note(struct attack *attack, const char *text)
{
    begin(attack, IPC_NOTE, sizeof(struct ipc_note));
    attack->message.note.level = LOG_EVENT;
    attack->message.note.text_bytes = (uint32_t)strlen(text);
    add_tail(attack, text, strlen(text));
}

void make_end(struct attack *attack, uint32_t cause, const char *reason)
{
    begin(attack, IPC_END, sizeof(struct ipc_end));
    attack->message.end.cause = cause;
    snprintf(attack->message.end.reason, sizeof(attack->message.end.reason), "%s", reason);
}

void make_pty(struct attack *attack, uint32_t channel)
{
    begin(attack, IPC_PTY, sizeof(struct ipc_pty));
    attack->message.pty.channel = channel;
    attack->message.pty.modes.c_cflag = CS8 | CREAD | B38400;
    attack->message.pty.modes.c_lflag = ICANON | ISIG;
}

void make_spawn(struct attack *attack, uint32_t channel, uint32_t kind, const char *command)
{
    static const char environment[] = "LANG=C";
    struct ipc_spawn *spawn = &attack->message.spawn;
    begin(attack, IPC_SPAWN, sizeof(*spawn));
    spawn->channel = channel;
    spawn->kind = kind;
    snprintf(spawn->term, sizeof(spawn->term), "dumb");
    /* Under a forced command a client may set none. */
    spawn->environment_bytes = attack->anybody ? 0 : sizeof(environment);
    spawn->command_bytes = (uint32_t)strlen(command);
    add_tail(attack, environment, spawn->environment_bytes);
    add_tail(attack, command, strlen(command));
}

void make_signal(struct attack *attack, uint32_t channel, uint32_t number)
{
    begin(attack, IPC_SIGNAL, sizeof(struct ipc_signal));
    attack->message.signal.channel = channel;
    attack->message.signal.number = number;
}

void make_release(struct attack *attack, uint32_t channel)
{
    begin(attack, IPC_RELEASE, sizeof(struct ipc_release));
    attack->message.release.channel = channel;
}

/* ---- random requests ------------------------------------------------------------------------- */

static const char *any_command(struct attack *attack)
{
    static char long_command[LIMIT_COMMAND_BYTES + 1];
    static const char *const commands[] = {
        ":", "exit 7", "cat", "kill -9 $$", "sleep 0.02", "", "echo text; echo more >&2"};
    uint32_t which = dice_below(&attack->dice, sizeof(commands) / sizeof(commands[0]) + 1);
    if (which < sizeof(commands) / sizeof(commands[0])) {
        return commands[which];
    }
    memset(long_command, 'a', sizeof(long_command) - 1);
    memcpy(long_command, ": ", 2);
    long_command[2 + dice_below(&attack->dice, LIMIT_COMMAND_BYTES - 1)] = '\0';
    return long_command;
}

static uint32_t any_channel(struct attack *attack)
{
    return dice_below(&attack->dice, dice_one_in(&attack->dice, 16) ? 20 : 4);
}

static void make_any_session(struct attack *attack, uint32_t type)
{
    static const int signals[] = {SIGTERM, SIGKILL, SIGHUP, SIGINT, SIGUSR1, SIGSTOP, 0, 64};
    uint32_t channel = any_channel(attack);
    if (type == IPC_PTY) {
        make_pty(attack, channel);
        if (dice_one_in(&attack->dice, 4)) {
            dice_fill(&attack->dice, &attack->message.pty.modes, sizeof(struct termios));
        }
    } else if (type == IPC_SPAWN) {
        uint32_t kind = 1 + dice_below(&attack->dice, 3);
        make_spawn(attack, channel, kind, kind == IPC_SESSION_SHELL ? "" : any_command(attack));
    } else if (type == IPC_SIGNAL) {
        bool odd = dice_one_in(&attack->dice, 4);
        make_signal(attack, channel, (uint32_t)signals[dice_below(&attack->dice, odd ? 8 : 5)]);
    } else {
        make_release(attack, channel);
    }
}

void make_any(struct attack *attack, uint32_t type)
{
    const struct world *world = attack->world;
    struct dice *dice = &attack->dice;
    switch (type) {
    case IPC_START:
        make_start(attack);
        break;
    case IPC_SIGN:
        make_sign(attack, dice_one_in(dice, 2));
        break;
    case IPC_PROVE:
        make_prove(attack);
        break;
    case IPC_AUTH:
        make_auth(attack, 1 + dice_below(dice, 2),
                  dice_one_in(dice, 2) ? &world->listed : &world->unlisted,
                  dice_one_in(dice, 4) ? "root" : "alice");
        break;
    case IPC_NOTE:
        make_note(attack, "event=end reason=none\nwrensshd[1]: event=end reason=none");
        break;
    case IPC_END:
        make_end(attack, 1 + dice_below(dice, 2), "by the attacker");
        break;
    default:
        make_any_session(attack, type);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

static size_t head_bytes(const struct attack *attack)
{
    return attack->bytes < 64 ? attack->bytes : 64;
}

static void set_number(struct attack *attack)
{
    static const uint32_t numbers[] = {0,     1,          2,          3,     5,         16,   64,
                                       255,   256,        2048,       2049,  8192,      8193, 32768,
                                       32769, 0x7fffffff, 0x80000000, 65536, 0xffffffff};
    if (attack->bytes >= 8) {
        uint32_t word = 1 + dice_below(&attack->dice, (uint32_t)(head_bytes(attack) / 4 - 1));
        uint32_t number = numbers[dice_below(&attack->dice, sizeof(numbers) / sizeof(numbers[0]))];
        memcpy(attack->message.raw + 4 * (size_t)word, &number, sizeof(number));
    }
}

static void flip_bits(struct attack *attack)
{
    for (uint32_t i = 1 + dice_below(&attack->dice, 8); i > 0 && attack->bytes > 0; i--) {
        uint32_t at = dice_below(&attack->dice, (uint32_t)head_bytes(attack));
        attack->message.raw[at] ^= (uint8_t)(1U << dice_below(&attack->dice, 8));
    }
}

static void change_size(struct attack *attack)
{
    uint32_t more = dice_below(&attack->dice, dice_one_in(&attack->dice, 4) ? 70000 : 64);
    if (dice_one_in(&attack->dice, 2)) {
        attack->bytes = dice_below(&attack->dice, (uint32_t)attack->bytes + 1);
    } else if (attack->bytes + more <= MESSAGE_BYTES) {
        memset(attack->message.raw + attack->bytes, 'x', more);
        attack->bytes += more;
    }
}

static void change_type(struct attack *attack)
{
    attack->message.type = dice_one_in(&attack->dice, 4) ? (uint32_t)dice_next(&attack->dice)
                                                         : dice_below(&attack->dice, IPC_TYPES + 3);
}

void mutate(struct attack *attack)
{
    static void (*const ways[])(struct attack *) = {set_number, flip_bits, change_size,
                                                    change_type};
    ways[dice_below(&attack->dice, sizeof(ways) / sizeof(ways[0]))](attack);
}
