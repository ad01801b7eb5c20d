#include "session_program.h"

#include <string.h>

#include "grant.h"
#include "session_model.h"
#include "simulation.h"

struct session_program session_program;

void session_program_begin(struct input input, struct session_options *options, struct grant *grant,
                           struct account *account, bool *has_address)
{
    static struct subsystem subsystems[2];
    static const char *const shells[] = {"/bin/sh", "/bin/bash", "/usr/sbin/nologin", "/bin/rbash"};
    memset(&session_program, 0, offsetof(struct session_program, request.data));
    memset(&session_program.fails, 0,
           sizeof(session_program) - offsetof(struct session_program, fails));
    session_program.input = input;
    uint8_t flags = input_u8(&session_program.input);
    uint8_t more = input_u8(&session_program.input);
    grant->flags = ((flags & 1) ? 0 : GRANT_PTY) | ((flags & 2) ? GRANT_FORCED : 0) |
                   ((more & 16) ? GRANT_CERTIFICATE : 0);
    grant->key.sk = (more >> 5) & 1;
    strcpy(grant->key_id, "a b=%n\n");
    strcpy(grant->command, (flags & 4) ? "internal-sftp -R\t-d x" : "forced by the key");
    grant->command_bytes = (uint32_t)strlen(grant->command);
    options->forced_command = (flags & 8) ? ((flags & 4) ? "internal-sftp" : "forced by -e") : NULL;
    memcpy(grant->environment, "LD_PRELOAD=x\0PATH=/mine\0LC_KEY=1\0SSH_USER_KEY=a", 48);
    grant->environment_bytes = (flags & 16) ? 48 : 0;
    if (flags & 32) {
        subsystems[0] =
            (struct subsystem){.name = "netconf=x", .name_bytes = 7, .command = "run netconf"};
        subsystems[1] = (struct subsystem){
            .name = "sftp=x", .name_bytes = 4, .command = (flags & 64) ? "" : "internal-sftp -v"};
        options->subsystems = subsystems;
        options->subsystem_count = 2;
    }
    *has_address = (flags & 128) == 0;
    strcpy(account->user, "bob");
    strcpy(account->home, "/home/bob");
    strcpy(account->shell, shells[more & 3]);
    account->uid = (more & 4) ? 0 : 1000;
    session_program.fails = (more & 8) ? FAIL_START : 0;
}

bool program_fails(enum failure which)
{
    if ((session_program.fails & which) == 0) {
        return false;
    }
    if (session_program.spared > 0) {
        session_program.spared--;
        return false;
    }
    session_program.fails &= ~which;
    return true;
}

/* ---- requests -------------------------------------------------------------------------------- */

static size_t add(uint8_t *out, size_t at, const char *text, size_t bytes)
{
    memcpy(out + at, text, bytes);
    return at + bytes;
}

/* An index of a list, or 15 for bytes of the input. */
static size_t add_from(uint8_t *out, size_t at, const char *const *texts, size_t count, bool nul)
{
    uint8_t which = input_u8(&session_program.input);
    if (which == 255) {
        const struct input raw =
            input_take(&session_program.input, input_u8(&session_program.input));
        return add(out, at, (const char *)raw.at, raw.left);
    }
    const char *text = texts[which % count];
    return add(out, at, text, strlen(text) + nul);
}

/* sizes: the low bits count variables; 0x40 and 0x80 make a length wrong. */
static size_t make_spawn(uint8_t channel, uint8_t *out)
{
    static const char *const variables[] = {"LANG=C.UTF-8",
                                            "LC_ALL=de",
                                            "COLORTERM=truecolor",
                                            "NO_COLOR=1",
                                            "GIT_PROTOCOL=version=2",
                                            "LC_KEY=client",
                                            "LANG=../../x",
                                            "LC_=x",
                                            "LC_A.B=x",
                                            "LD_PRELOAD=x",
                                            "PATH=/x",
                                            "LANG=%n",
                                            "LANGUAGE=de",
                                            "LC_ALL",
                                            "=x",
                                            "LANG=a\nb",
                                            "NO_COLORS=",
                                            "LANG=",
                                            "lc_all=x",
                                            "ENV=x"};
    static const char *const commands[] = {"sftp",   "ls -l", "netconf",   "internal-sftp",
                                           "",       "sftp ", "netconf=x", "internal-sftp -R",
                                           "exit 3", "netcon"};
    struct input *input = &session_program.input;
    uint8_t sizes = input_u8(input);
    struct ipc_spawn spawn = {.type = IPC_SPAWN, .channel = channel, .kind = sizes >> 3 & 3};
    memset(spawn.term, 't', (sizes & 0x20) ? sizeof(spawn.term) : 5);
    size_t at = sizeof(spawn);
    for (int i = sizes & 7; i > 0; i--) {
        at = add_from(out, at, variables, sizeof(variables) / sizeof(variables[0]), true);
    }
    spawn.environment_bytes = (uint32_t)(at - sizeof(spawn));
    if (spawn.kind != IPC_SESSION_SHELL || (sizes & 0x40)) {
        at = add_from(out, at, commands, sizeof(commands) / sizeof(commands[0]), false);
    }
    spawn.command_bytes = (uint32_t)(at - sizeof(spawn) - spawn.environment_bytes);
    if (sizes & 0x80) {
        spawn.environment_bytes += input_u32(input);
        spawn.command_bytes += input_u32(input);
    }
    memcpy(out, &spawn, sizeof(spawn));
    return at;
}

/* form: 1 one byte short, 2 one byte longer, 4 with descriptors, 8 some bytes from the input, 16
 * all the room and more, 32 a command of the greatest length. */
static void send_request(uint8_t kind)
{
    struct input *input = &session_program.input;
    struct session_message *request = &session_program.request;
    uint8_t form = input_u8(input);
    uint8_t channel = input_u8(input);
    uint32_t head[3] = {kind, channel, 0};
    memset(request->data, 0, 512);
    memcpy(request->data, head, sizeof(head));
    request->bytes = kind == IPC_PTY ? sizeof(struct ipc_pty) : kind == IPC_SIGNAL ? 12 : 8;
    if (kind == IPC_SPAWN) {
        request->bytes = make_spawn(channel, request->data);
    } else if (kind == IPC_SIGNAL) {
        head[2] = input_u8(input);
        memcpy(request->data, head, sizeof(head));
    }
    if (form & 8) {
        size_t at = (size_t)input_u8(input) * 4 % request->bytes;
        const struct input bytes = input_take(input, input_u8(input) % 16);
        memcpy(request->data + at, bytes.at, bytes.left);
    }
    if ((form & 32) && kind == IPC_SPAWN) {
        struct ipc_spawn spawn;
        memcpy(&spawn, request->data, sizeof(spawn));
        spawn.environment_bytes = 0;
        spawn.command_bytes = LIMIT_COMMAND_BYTES + (form >> 6);
        memcpy(request->data, &spawn, sizeof(spawn));
        request->bytes = sizeof(spawn) + spawn.command_bytes;
        memset(request->data + sizeof(spawn), 'l', spawn.command_bytes);
    }
    request->bytes -= (form & 1) ? 1 : 0;
    request->data[request->bytes] = 0;
    request->bytes += (form & 2) ? 1 : 0;
    request->bytes = (form & 16) ? sizeof(request->data) : request->bytes;
    request->descriptors = (form & 4) != 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void end_program(void)
{
    uint8_t which = input_u8(&session_program.input);
    uint8_t status = input_u8(&session_program.input);
    struct model_program *program = &session.programs[which % LIMIT_CHANNELS];
    if (program->pid > 0 && !program->ended) {
        program->ended = true;
        program->status = (which & 0x80) ? (status & 0xbf) | ((status & 0x3f) == 0) : status << 8;
    }
}

enum session_event session_program_event(void)
{
    struct input *input = &session_program.input;
    while (input->left > 0) {
        uint8_t op = input_u8(input);
        switch (op & 31) {
        case 13:
            end_program();
            return SESSION_SIGNAL;
        case 14:
            session_program.report = true;
            return SESSION_REPORT;
        case 15:
            return SESSION_TIME;
        case 16:
            session_program.closed = true;
            return SESSION_REQUEST;
        case 17:
            session_program.lifeline_closed = true;
            return SESSION_REQUEST;
        case 18:
            session_program.fails |= 1U << input_u8(input) % 9;
            session_program.spared = op >> 5;
            break;
        case 19:
            return SESSION_INTERRUPT;
        case 20:
            session_program.send_error = (op & 0x80) ? 32 : 11;
            break;
        default:
            if ((op & 31) < 13) {
                send_request(op & 31);
                return SESSION_REQUEST;
            }
        }
    }
    return SESSION_OVER;
}

bool program_has_report(void)
{
    return session_program.report;
}

bool program_takes_report(void)
{
    bool has = session_program.report;
    session_program.report = false;
    return has;
}

int session_program_report(void *out, size_t room)
{
    struct sftp_report report = {.kind = input_u8(&session_program.input)};
    uint8_t flags = report.kind & 0xf0;
    report.kind &= 0xf;
    memset(report.text, 'n', (flags & 0x10) ? sizeof(report.text) : 20);
    report.text[3] = '\n';
    report.layers = flags;
    memcpy(out, &report, sizeof(report) < room ? sizeof(report) : room);
    return (flags & 0x80) ? 0 : (flags & 0x40) ? 7 : (int)sizeof(report);
}
