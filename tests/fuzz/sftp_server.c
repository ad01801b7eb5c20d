/*
 * The SFTP server's whole life, sftp_main(), on a file tree in memory (support/tree.h), with
 * requests that the input makes (support/sftp_requests_made.h). Each input runs twice, and the
 * stream arrives in other pieces: the answers must be the same.
 *
 * Input: four bytes of settings, then requests.
 */
#include "sftp.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "log.h"
#include "sftp_requests_made.h"
#include "tree.h"

#define OUTPUT_BYTES (16 << 20)
#define HANDLES      1000

static struct sftp *server;
static struct {
    uint8_t flags, refuses, cuts, race;
    size_t arrived, sent, begun;
    unsigned ends;       /* of the stream */
    unsigned open_count; /* handles that the answers have given */
    uint8_t handles[HANDLES][8];
    bool directories[HANDLES]; /* which of them are */
    bool over;                 /* the stream is malformed from here on */
} state;
static uint8_t output[OUTPUT_BYTES], first_output[OUTPUT_BYTES];

enum {
    JAIL = 1,
    WALKS = 2,
    READ_ONLY = 4,
    VERBOSE = 8,
    IN_D = 16,
    UMASK = 32,
    LEAVES = 64,
    REFUSES = 128
};

static const char *const refusable[] = {"open", "rename",  "posix-rename", "remove",
                                        "read", "opendir", "lsetstat",     "hardlink"};

/* ---- the client ------------------------------------------------------------------------------ */

ssize_t client_read(void *out, size_t bytes)
{
    size_t left = stream.used - state.arrived;
    size_t part =
        state.cuts == 0 ? bytes : 1 + (state.arrived * 7 + state.cuts) % (state.cuts * 5U);
    SIMULATION_CHECK(bytes > 0 && state.ends < 2);
    part = part < bytes ? part : bytes;
    part = part < left ? part : left;
    memcpy(out, stream.bytes + state.arrived, part);
    state.arrived += part;
    state.ends += part == 0;
    return (ssize_t)part;
}

ssize_t client_write(const void *bytes, size_t count)
{
    if (client_has_gone()) {
        errno = EPIPE;
        return -1;
    }
    size_t part = state.cuts == 0 ? count : 1 + count / 2;
    SIMULATION_CHECK(state.sent + count <= OUTPUT_BYTES);
    memcpy(output + state.sent, bytes, part);
    state.sent += part;
    return (ssize_t)part;
}

/* Only where the answers of two runs are not compared. */
bool client_has_gone(void)
{
    return (state.flags & LEAVES) != 0 && state.sent > 300;
}

/* ---- requests -------------------------------------------------------------------------------- */

static unsigned find_handle(const uint8_t *handle)
{
    unsigned i = 0;
    while (i < state.open_count && memcmp(state.handles[i], handle, 8) != 0) {
        i++;
    }
    return i;
}

/* The handle that a request names first; NULL if it has none. */
static const uint8_t *handle_of(const uint8_t *packet, size_t bytes)
{
    bool has = packet[0] == SFTP_CLOSE || packet[0] == SFTP_READ || packet[0] == SFTP_WRITE ||
               packet[0] == SFTP_FSTAT || packet[0] == SFTP_FSETSTAT || packet[0] == SFTP_READDIR;
    return has && bytes >= 17 && memcmp(packet + 5, "\0\0\0\x08", 4) == 0 ? packet + 9 : NULL;
}

static void check_handles(const struct answered *answer, const uint8_t *packet, size_t bytes)
{
    const uint8_t *handle = handle_of(packet, bytes);
    if (answer->type == SFTP_HANDLE) {
        SIMULATION_CHECK(state.open_count < HANDLES &&
                         find_handle(answer->handle) == state.open_count);
        state.directories[state.open_count] = packet[0] == SFTP_OPENDIR;
        memcpy(state.handles[state.open_count++], answer->handle, 8);
        simulation_goal(packet[0] == SFTP_OPENDIR ? "opens-directory" : "opens");
    }
    bool known = handle != NULL && find_handle(handle) < state.open_count;
    if (known && packet[0] != SFTP_CLOSE &&
        state.directories[find_handle(handle)] != (packet[0] == SFTP_READDIR)) {
        SIMULATION_CHECK(answer->type == SFTP_STATUS &&
                         (answer->status == SFTP_FAILURE || answer->status == SFTP_BAD_MESSAGE ||
                          answer->status == SFTP_PERMISSION_DENIED));
        simulation_goal("handle-of-the-other-kind");
    }
    if (handle != NULL && !known) {
        SIMULATION_CHECK(answer->type == SFTP_STATUS && answer->status != SFTP_OK &&
                         answer->status != SFTP_EOF);
        simulation_goal("unknown-handle");
    } else if (handle != NULL && packet[0] == SFTP_CLOSE) {
        SIMULATION_CHECK(answer->type == SFTP_STATUS);
        state.directories[find_handle(handle)] = state.directories[state.open_count - 1];
        memcpy(state.handles[find_handle(handle)], state.handles[state.open_count - 1], 8);
        state.open_count--;
        simulation_goal("closes");
    }
}

/* Where the jail is cannot be seen from inside. */
static void check_names(const uint8_t *answer, size_t bytes, const uint8_t *packet)
{
    const uint8_t *name = answer + 17;
    bool hides =
        (state.flags & JAIL) != 0 && (packet[0] == SFTP_READLINK || packet[0] == SFTP_REALPATH);
    if (!hides || answer[4] != SFTP_NAME || bytes < 32) {
        return;
    }
    SIMULATION_CHECK(memcmp(name, TREE_JAIL "/", 10) != 0 && memcmp(name, "/srv/./jail/", 12) != 0);
}

/* By the names of -P and -R: what must be refused, whatever its fields. */
static bool is_refused(const uint8_t *packet, size_t bytes)
{
    static const uint8_t changing[] = {SFTP_WRITE, SFTP_SETSTAT, SFTP_FSETSTAT, SFTP_REMOVE,
                                       SFTP_MKDIR, SFTP_RMDIR,   SFTP_RENAME,   SFTP_SYMLINK};
    static const uint8_t types[] = {SFTP_OPEN, SFTP_RENAME,  0, SFTP_REMOVE,
                                    SFTP_READ, SFTP_OPENDIR, 0, 0};
    bool refused =
        (state.flags & READ_ONLY) != 0 && memchr(changing, packet[0], sizeof(changing)) != NULL;
    for (size_t i = 0; i < 8; i++) {
        bool named = (state.flags & REFUSES) != 0 && (state.refuses & 1U << i) != 0;
        size_t name_bytes = strlen(refusable[i]);
        bool is = types[i] != 0 ? packet[0] == types[i]
                                : packet[0] == SFTP_EXTENDED && bytes > 9 + name_bytes &&
                                      packet[8] == name_bytes + 12 &&
                                      memcmp(packet + 9, refusable[i], name_bytes) == 0;
        refused =
            refused || (named && is &&
                        (types[i] != 0 ||
                         memcmp(packet + 9 + name_bytes, "@openssh.com",
                                bytes - 9 - name_bytes < 12 ? bytes - 9 - name_bytes : 12) == 0));
    }
    return refused && bytes >= 5;
}

/* All that the server has answered. */
static size_t answered(void)
{
    return state.sent + server->answers.used;
}

SIMULATED(void, sftp_request, struct sftp *sftp, const uint8_t *packet, size_t bytes)
{
    size_t before = answered();
    bool started = sftp->started;
    SIMULATION_CHECK(!state.over && bytes > 0 && bytes <= 262144);
    tree_rules.never_replace = packet[0] == SFTP_RENAME;
    __real_sftp_request(sftp, packet, bytes);
    tree_rules.never_replace = false;
    if (bytes < 5 || (packet[0] == SFTP_INIT) == started) {
        SIMULATION_CHECK(sftp->ended != NULL && sftp->failed && answered() == before);
        state.over = true;
        simulation_goal("malformed");
        return;
    }
    SIMULATION_CHECK(sftp->answers.used <= sizeof(sftp->output) && !sftp->answers.failed);
    if (sftp->ended != NULL) {
        SIMULATION_CHECK(client_has_gone());
        return;
    }
    if (!started) {
        return;
    }
    /* What was sent meanwhile are earlier answers. */
    size_t used = answered() - before;
    SIMULATION_CHECK(used > 0 && used <= sftp->answers.used);
    const uint8_t *answer = sftp->answers.bytes + sftp->answers.used - used;
    const struct answered read = answer_check(answer, used, packet, bytes);
    check_handles(&read, packet, bytes);
    check_names(answer, used, packet);
    if (is_refused(packet, bytes)) {
        SIMULATION_CHECK(read.type == SFTP_STATUS && read.status == SFTP_PERMISSION_DENIED);
        simulation_goal("refuses");
    }
    if (read.type == SFTP_STATUS && read.status == SFTP_OK && packet[0] != SFTP_CLOSE) {
        simulation_goal("changes");
    }
}

/* ---- the start ------------------------------------------------------------------------------- */

SIMULATED(uint32_t, sftp_sandbox_enter, int jail, bool read_only)
{
    bool jailed = (state.flags & JAIL) != 0;
    SIMULATION_CHECK((jail >= 0) == jailed && read_only == ((state.flags & READ_ONLY) != 0));
    tree_rules.jailed = jailed;
    tree_rules.read_only = read_only;
    tree_rules.race_at = state.race;
    return 7;
}

SIMULATED(void, sftp_run, struct sftp *sftp)
{
    server = sftp;
    __real_sftp_run(sftp);
}

SIMULATED(int, sftp_options_parse, struct sftp_options *options, char **argv, bool by_daemon,
          int *status)
{
    memset(options, 0, sizeof(*options));
    return __real_sftp_options_parse(options, argv, by_daemon, status);
}

SIMULATED(bool, sftp_log_begin, void)
{
    return false;
}

SIMULATED(void, log_open, bool use_syslog, enum log_level shown)
{
    (void)use_syslog;
    (void)shown;
}

SIMULATED(void, log_connect, void)
{
}

SIMULATED(void, log_syslog_stay, void)
{
}

SIMULATED(void, signals_reset, void)
{
}

SIMULATED(mode_t, umask, mode_t mask)
{
    SIMULATION_CHECK(mask == 022);
    return 0;
}

SIMULATED(void, tzset, void)
{
}

SIMULATED(char *, getenv, const char *name)
{
    static char user[] = "bob", home[] = "/home/bob", zone[] = "UTC";
    return !simulating                 ? __real_getenv(name)
           : strcmp(name, "USER") == 0 ? user
           : strcmp(name, "HOME") == 0 ? home
           : strcmp(name, "TZ") == 0   ? zone /* or the environment would be replaced */
                                       : NULL;
}

SIMULATED(uid_t, getuid, void)
{
    return simulating ? 1000 : __real_getuid();
}

SIMULATED(void, memory_give_back, void *start, size_t bytes)
{
    memset(start, 0, bytes);
}

SIMULATED(void, memory_give_back_stack, void)
{
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void start(void)
{
    static char name[] = "wrensshd-sftp", j[] = "-j" TREE_JAIL, inside[] = "-d/d",
                outside[] = "-d" TREE_JAIL "/d";
    static char readonly[] = "-R", verbose[] = "-v", mask[] = "-u022", list[100];
    char *argv[16] = {name};
    size_t count = 1;
    const struct {
        bool given;
        char *argument;
    } arguments[] = {{(state.flags & JAIL) != 0, j},
                     {(state.flags & IN_D) != 0, (state.flags & JAIL) ? inside : outside},
                     {(state.flags & READ_ONLY) != 0, readonly},
                     {(state.flags & VERBOSE) != 0, verbose},
                     {(state.flags & UMASK) != 0, mask},
                     {(state.flags & REFUSES) != 0 && state.refuses != 0, list}};
    strcpy(list, "-P");
    for (size_t i = 0; i < 8; i++) {
        if (state.refuses & 1U << i) {
            strcat(strcat(list, list[2] != '\0' ? "," : ""), refusable[i]);
        }
    }
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        if (arguments[i].given) {
            argv[count++] = arguments[i].argument;
        }
    }
    int status = sftp_main(argv);
    SIMULATION_CHECK(status == (server->failed ? 111 : 0));
}

/* The product starts with no names in its memory: unknown numbers take the places of those that it
 * has found. Its files are closed, so it finds none. */
static void forget_owners(void)
{
    char name[OWNER_NAME_BYTES];
    simulating = false;
    for (uint32_t i = 0; i < 16; i++) {
        SIMULATION_CHECK(!owners_user(name, UINT32_MAX - i, false));
        SIMULATION_CHECK(!owners_group(name, UINT32_MAX - i, false));
    }
    simulating = true;
}

/* The descriptors are the client's two, the jail, the two tables, and one for each handle. */
static void run(void)
{
    state.arrived = state.sent = 0;
    state.ends = state.open_count = 0;
    state.over = false;
    simulation_begin();
    tree_begin();
    tree_rules.no_openat2 = (state.flags & WALKS) != 0;
    uint64_t all = tree_sum(false), outside = tree_sum(true);
    start();
    unsigned fixed = 2 + ((state.flags & JAIL) ? 1 : 0);
    SIMULATION_CHECK(simulation_count_fds(FD_FILE) == fixed + state.open_count);
    bool raced = tree_rules.race_at != 0 && tree_rules.calls >= tree_rules.race_at;
    SIMULATION_CHECK(!(state.flags & READ_ONLY) || raced || tree_sum(false) == all);
    SIMULATION_CHECK(!(state.flags & JAIL) || tree_sum(true) == outside);
    if (raced) {
        simulation_goal("raced");
    }
    if (state.open_count > 0) {
        simulation_goal("left-open");
    }
    memset(server, 0, offsetof(struct sftp, entries)); /* the product starts with zeros */
    forget_owners();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    memset(&state, 0, sizeof(state));
    state.flags = input_u8(&input);
    state.refuses = input_u8(&input);
    uint8_t cuts = input_u8(&input);
    state.race = input_u8(&input);
    stream_make(input);
    run();
    size_t first = state.sent;
    memcpy(first_output, output, first);
    state.cuts = cuts;
    run();
    if (!(state.flags & LEAVES)) {
        SIMULATION_CHECK(first == state.sent && memcmp(output, first_output, first) == 0);
    }
    simulation_end();
    return 0;
}
