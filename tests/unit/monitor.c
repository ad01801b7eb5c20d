/* Covers monitor.c, monitor_ipc.c, ending.c and sign.c: runs monitor_run() in a process of its
 * own, and sends requests from the network process's ends of both sockets. people.h replaces
 * account_find.c. */
#include "monitor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base.h"
#include "descriptor.h"
#include "ipc.h"
#include "keygen.h"
#include "log.h"
#include "loopback.h"
#include "monitor_internal.h"
#include "people.h"
#include "process.h"
#include "process_rig.h"
#include "scratch.h"
#include "ssh_client.h"
#include "table.h"
#include "unit.h"
#include "wire.h"

#define DIES 128

#define COOKIE "monitor's cookie"
_Static_assert(sizeof(COOKIE) == SSH_COOKIE_BYTES + 1, "16 bytes");

static char home[SCRATCH_BYTES];

/* ---- a monitor and its network process ------------------------------------------------------- */

static struct options options;
static struct peer peer = {.address = "192.0.2.1", .port = "4711", .has_ip = true};
static pid_t monitor;
static const struct identity unprivileged = {.uid = 65534, .gid = 65534};
static struct oom oom = {.fd = -1};
static int table;   /* of slots, or -1 */
static int ipc;     /* the network process's end */
static int session; /* the same of the session process's socket */
static int client;  /* the other end of the connection */
static bool over_tcp;
static bool greets; /* the connection has our greeting from its start */
static int
    orders; /* a byte makes the network process exit with it, or above DIES die by a signal */
static int reader; /* the monitor's log */
static char said[65536];
static uint8_t public_key[32], secret_key[64];
static struct hostkey hostkey;

static void run_network_process(int end)
{
    uint8_t order = 0;
    if (geteuid() == 0 &&
        (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)) {
        _exit(99);
    }
    if (read(end, &order, 1) == 1 && order > DIES) {
        raise(order - DIES);
    }
    _exit(order);
}

/* Both ends of what connects the monitor and this test. */
struct ends {
    int ipc[2], session[2], connection[2], orders[2], log[2];
};

/* ---- its slot --------------------------------------------------------------------------------
 */

/* The one that the monitor holds in the table. */
#define SLOT           5
#define OLD_PENALTY_MS 20000 /* it confines nobody, and outlasts the test */

static struct flock place_lock(void)
{
    return (struct flock){.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = offsetof(struct table_file, slots[SLOT]),
                          .l_len = sizeof(struct slot)};
}

/* As after admission_enter(). */
static void hold_place(struct admission *admission)
{
    struct flock lock = place_lock();
    if (admission->fd >= 0 && fcntl(admission->fd, F_SETLK, &lock) != 0) {
        _exit(98);
    }
}

/* A table, in which the source has a penalty. */
static void make_table(void)
{
    static struct table_file file;
    const struct source source = source_of(&peer);
    table_front_make(&file.front, 0);
    file.slots[SLOT] = (struct slot){.source = source, .phase = SLOT_STARTED};
    file.front.penalties[7] =
        (struct penalty){.network = source.network, .until_ms = clock_now_ms() + OLD_PENALTY_MS};
    table = memfd_create("slots", MFD_CLOEXEC);
    ck_assert_int_eq(write(table, &file, sizeof(file)), sizeof(file));
}

static bool is_slot_held(void)
{
    struct flock lock = place_lock();
    ck_assert_int_eq(fcntl(table, F_GETLK, &lock), 0);
    ck_assert(lock.l_type == F_UNLCK || lock.l_pid == monitor);
    return lock.l_type != F_UNLCK;
}

static uint32_t slot_phase(void)
{
    struct slot slot;
    const off_t offset = offsetof(struct table_file, slots[SLOT]);
    ck_assert_int_eq(pread(table, &slot, sizeof(slot), offset), sizeof(slot));
    return slot.phase;
}

/* Then the penalty of the connection's source has expired. */
static int64_t penalty_until_ms(void)
{
    static struct table_front front;
    const uint64_t network = source_of(&peer).network;
    int64_t until_ms = 0;
    ck_assert_int_eq(pread(table, &front, sizeof(front), 0), sizeof(front));
    for (size_t i = 0; i < LIMIT_PENALTIES; i++) {
        if (front.penalties[i].network == network && front.penalties[i].trusted == 0) {
            until_ms =
                front.penalties[i].until_ms > until_ms ? front.penalties[i].until_ms : until_ms;
        }
    }
    return until_ms;
}

/* ---- its start ------------------------------------------------------------------------------- */

/* The descriptors that monitor.h expects. */
static void place_descriptors(const struct ends *ends)
{
    int own_ipc = process_move_high(ends->ipc[0]);
    int own_session = process_move_high(ends->session[0]);
    dup2(own_ipc, IPC_DESCRIPTOR);
    dup2(own_session, SESSION_DESCRIPTOR);
    fcntl(IPC_DESCRIPTOR, F_SETFD, FD_CLOEXEC);
    fcntl(SESSION_DESCRIPTOR, F_SETFD, FD_CLOEXEC);
    close(own_ipc);
    close(own_session);
}

static void run_monitor(struct ends *ends)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, ADMISSION_SIGNAL); /* as admission_enter() has it */
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); /* as main.c has it */
    close(ends->ipc[1]);
    close(ends->session[1]);
    close(ends->connection[1]);
    close(ends->orders[1]);
    close(ends->log[0]);
    dup2(ends->log[1], STDERR_FILENO);
    close(ends->log[1]);
    ends->connection[0] = process_move_high(ends->connection[0]);
    int end = process_move_high(ends->orders[0]);
    pid_t network = fork();
    if (network == 0) {
        close(ends->ipc[0]);
        close(ends->session[0]);
        close(ends->connection[0]);
        run_network_process(end);
    }
    close(end);
    struct admission admission = {.fd = table < 0 ? -1 : process_move_high(table),
                                  .slot = SLOT,
                                  .limit = LIMIT_SLOTS,
                                  .pid = getpid(),
                                  .uid = geteuid(),
                                  .source = source_of(&peer)};
    hold_place(&admission);
    place_descriptors(ends);
    log_open(false, LOG_EVENT); /* looks up the process id, which the filter would not allow */
    const struct monitor_setup setup = {.options = &options,
                                        .peer = &peer,
                                        .identity = &unprivileged,
                                        .oom = &oom,
                                        .admission = &admission,
                                        .cookie = (const uint8_t *)COOKIE,
                                        .ipc = IPC_DESCRIPTOR,
                                        .connection = ends->connection[0],
                                        .network = network};
    _exit(monitor_run(&setup));
}

static void start(void)
{
    struct ends ends;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.ipc), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.session), 0);
    if (over_tcp) {
        loopback_connect(ends.connection);
    } else {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.connection), 0);
    }
    if (greets) {
        ck_assert_int_eq(write(ends.connection[0], "SSH", 3), 3);
    }
    ck_assert_int_eq(pipe2(ends.orders, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(ends.log, O_CLOEXEC), 0);
    monitor = fork();
    ck_assert_int_ge(monitor, 0);
    if (monitor == 0) {
        run_monitor(&ends);
    }
    close(ends.ipc[0]);
    close(ends.session[0]);
    close(ends.connection[0]);
    close(ends.orders[0]);
    close(ends.log[1]);
    ipc = ends.ipc[1];
    session = ends.session[1];
    client = ends.connection[1];
    orders = ends.orders[1];
    reader = ends.log[0];
}

/* Waits for the monitor, and returns its exit code. The log is in `said`. */
static int await_monitor(void)
{
    int status;
    alarm(20);
    process_read_log(reader, said, sizeof(said));
    close(reader);
    ck_assert_int_eq(waitpid(monitor, &status, 0), monitor);
    ck_assert_msg(WIFEXITED(status), "wait status %#x, log <%s>", (unsigned)status, said);
    close(ipc);
    close(session);
    close(client);
    close(orders);
    return WEXITSTATUS(status);
}

/* The same for a connection that was served: the log's last line, and no other, logs its end. */
static int finish_hanging_monitor(void)
{
    int code = await_monitor();
    const char *end = strstr(said, "event=end ");
    ck_assert_msg(end != NULL && strstr(end + 1, "event=end ") == NULL, "one end in <%s>", said);
    ck_assert_ptr_eq(strchr(end, '\n') + 1, said + strlen(said)); /* the last line */
    return code;
}

/* The same, for a network process that ends: that closes the session process's socket, too. */
static int finish_monitor(void)
{
    shutdown(session, SHUT_RDWR);
    return finish_hanging_monitor();
}

static ssize_t ask(const void *request, size_t request_bytes, void *reply, size_t reply_bytes)
{
    return process_ask(ipc, request, request_bytes, reply, reply_bytes);
}

/* The request must end the connection with this reason and exit code 111. */
static void assert_fatal(const void *request, size_t request_bytes, const char *reason)
{
    char reply[512];
    ck_assert_int_le(ask(request, request_bytes, reply, sizeof(reply)), 0);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, reason);
}

static void begin(void)
{
    static char keydir[SCRATCH_BYTES];
    static char pattern[] = "keys";
    char base64[128], line[256];
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    ck_assert_int_ge(sodium_init(), 0);
    scratch_make(home);
    scratch_make(keydir);
    people_begin(home);
    over_tcp = greets = false;
    table = -1;
    options.best_effort = !people_have_seccomp();
    crypto_sign_keypair(hostkey.first.public_key, hostkey.first.secret_key);
    scratch_write(keydir, "ed25519.pk", hostkey.first.public_key, 32, 0644);
    scratch_write(keydir, ".ed25519.sk", hostkey.first.secret_key, 64, 0600);
    crypto_sign_keypair(public_key, secret_key);
    hostkey_blob(blob, public_key);
    sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob), sodium_base64_VARIANT_ORIGINAL);
    int bytes = snprintf(line, sizeof(line), "ssh-ed25519 %s\n", base64);
    scratch_write(home, "keys", line, (size_t)bytes, 0600);
    options.keydir = keydir;
    options.authkeys[0] = pattern;
    options.login_seconds = 30;
    options.attempts = 6;
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(60);

/* ---- a good connection ----------------------------------------------------------------------- */

#define ALL_LAYERS (SANDBOX_REQUIRED_AS_ROOT | SANDBOX_LANDLOCK)

static void do_start(void)
{
    const struct ipc_start request = {IPC_START, ALL_LAYERS};
    struct ipc_start_reply reply;
    ck_assert_int_eq(ask(&request, sizeof(request), &reply, sizeof(reply)), sizeof(reply));
    ck_assert_uint_eq(reply.type, IPC_START);
    ck_assert_mem_eq(reply.host_public_key, hostkey.first.public_key, 32);
}

/* V_C, I_C and I_S. */
#define HEAD       "cIi" COOKIE
#define HEAD_BYTES (sizeof(HEAD) - 1)

/* A request to sign a key exchange. */
struct sign_request {
    struct ipc_sign sign;
    uint8_t tail[HEAD_BYTES + 1190 + 1071];
};

/* `hash_bytes` chooses the method; `first` is the first byte of Q_C. */
static size_t make_sign(struct sign_request *request, uint32_t hash_bytes, uint8_t first)
{
    memset(request, 0, sizeof(*request));
    request->sign.type = IPC_SIGN;
    request->sign.hybrid = hash_bytes == 64;
    request->sign.client_version_bytes = 1;
    request->sign.client_kexinit_bytes = 1;
    request->sign.server_kexinit_bytes = 1 + SSH_COOKIE_BYTES;
    memset(request->sign.secret, 0x81, hash_bytes);
    memcpy(request->tail, HEAD, HEAD_BYTES);
    request->tail[HEAD_BYTES] = first;
    return sizeof(request->sign) + HEAD_BYTES + (hash_bytes == 64 ? 1190 + 1071 : 32 + 32);
}

/* Its H, as RFC 5656 section 4 has it. */
static void expect_hash(uint8_t h[static 64], uint32_t hash_bytes, uint8_t first)
{
    static uint8_t all[8192];
    struct sign_request request;
    struct fields hashed = FIELDS_IN(all);
    bool hybrid = hash_bytes == 64;
    size_t q_c_bytes = hybrid ? 1190 : 32, q_s_bytes = hybrid ? 1071 : 32;
    make_sign(&request, hash_bytes, first);
    const uint8_t *q_c = request.tail + HEAD_BYTES;
    fields_put(&hashed, "sssskdd", "c", "SSH-2.0-wrenssh_" WREN_VERSION, "I", "i" COOKIE,
               hostkey.first.public_key, q_c, q_c_bytes, q_c + q_c_bytes, q_s_bytes);
    secrets_put_k(&hashed, hybrid, request.sign.secret);
    secrets_hash(hybrid, all, hashed.used, h);
}

static void do_sign(uint32_t hash_bytes, uint8_t first)
{
    struct sign_request request;
    struct ipc_sign_reply reply;
    uint8_t h[64];
    size_t count = make_sign(&request, hash_bytes, first);
    ck_assert_int_eq(ask(&request, count, &reply, sizeof(reply)), sizeof(reply));
    ck_assert_uint_eq(reply.type, IPC_SIGN);
    expect_hash(h, hash_bytes, first);
    ck_assert_uint_eq(reply.hash_bytes, hash_bytes);
    ck_assert_mem_eq(reply.hash, h, hash_bytes);
    ck_assert_int_eq(
        crypto_sign_verify_detached(reply.signature, h, hash_bytes, hostkey.first.public_key), 0);
}

/* A login request and its tail. */
struct auth_request {
    struct ipc_auth auth;
    uint8_t blob[HOSTKEY_BLOB_BYTES];
};

static struct auth_request make_auth(const char *user, size_t session_id_bytes)
{
    uint8_t data[SIGN_LOGIN_BYTES];
    struct login login = {.session_id_bytes = session_id_bytes, .hostkey = &hostkey};
    struct auth_request request;
    memset(&request, 0, sizeof(request));
    request.auth.type = IPC_AUTH;
    request.auth.stage = IPC_AUTH_SIGNED;
    request.auth.key_type = IPC_KEY_ED25519;
    request.auth.blob_bytes = sizeof(request.blob);
    snprintf(request.auth.user, sizeof(request.auth.user), "%s", user);
    snprintf(request.auth.algorithm, sizeof(request.auth.algorithm), "ssh-ed25519");
    hostkey_blob(request.blob, public_key);
    expect_hash(login.session_id, (uint32_t)session_id_bytes, 0);
    size_t count = sign_login_data(data, &login, &request.auth, request.blob);
    crypto_sign_detached(request.auth.signature, NULL, data, count, secret_key);
    return request;
}

static uint32_t do_auth(const struct auth_request *request)
{
    struct ipc_auth_reply reply;
    ck_assert_int_eq(
        ask(request, sizeof(request->auth) + sizeof(request->blob), &reply, sizeof(reply)),
        sizeof(reply));
    ck_assert_uint_eq(reply.type, IPC_AUTH);
    return reply.verdict;
}

static void do_login(void)
{
    const struct auth_request request = make_auth("alice", 64);
    ck_assert_uint_eq(do_auth(&request), IPC_VERDICT_ACCEPTED);
}

static void do_end(uint32_t cause, const char *reason)
{
    struct ipc_end request = {.type = IPC_END, .cause = cause, .bytes_in = 1234, .bytes_out = 5678};
    snprintf(request.reason, sizeof(request.reason), "%s", reason);
    ck_assert_int_eq(send(ipc, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
}

static void order(uint8_t what)
{
    ck_assert_int_eq(write(orders, &what, 1), 1);
}

static void end_well(void)
{
    do_end(IPC_END_CLIENT, "");
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
}

enum stage { AT_START, BEFORE_LOGIN, AFTER_LOGIN, STAGES };

static void start_at(enum stage stage)
{
    start();
    if (stage > AT_START) {
        do_start();
        do_sign(64, 0);
    }
    if (stage > BEFORE_LOGIN) {
        do_login();
    }
}

TEST(good_connection)
{
    start_at(AFTER_LOGIN);
    do_sign(32, 7);
    do_end(IPC_END_CLIENT, "client left");
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, "event=connection layers=root,uid,groups,no-new-privs,not-dumpable,"
                          "rlimits,landlock,seccomp missing=none admission=none\n");
    assert_contains(said, "event=login user=alice ");
    assert_contains(said,
                    "event=end user=alice in=1234 out=5678 seconds=0 reason=\"client left\"\n");
}

TEST(end_of_ours)
{
    start_at(BEFORE_LOGIN);
    do_end(IPC_END_OURS, "no memory\n");
    order(0);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"no memory\\u000a\"\n");
    assert_contains(said, "user=\"\"");
}

/* The longest values of each kind, every byte escaped: one line, with all of its fields. */
TEST_EACH(end_of_a_stranger, STAGES)
{
    struct ipc_end request = {.type = IPC_END, .cause = IPC_END_CLIENT};
    memset(request.reason, '\n', sizeof(request.reason) - 1);
    memset(request.asked, '"', sizeof(request.asked) - 1);
    memset(request.client, 0xff, sizeof(request.client) - 1);
    memset(request.offer, '\\', sizeof(request.offer) - 1);
    start_at((enum stage)_i);
    ck_assert_int_eq(send(ipc, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
    char *end = strstr(said, "event=end ");
    ck_assert_ptr_nonnull(end);
    assert_contains(end, "reason=\"\\u000a\\u000a");
    if (_i == AFTER_LOGIN) { /* the line of the login has named it all */
        assert_contains(end, "\\u000a...\"\n");
        ck_assert_ptr_null(strstr(end, "asked="));
        return;
    }
    ck_assert_uint_le(strlen(end), LOG_LINE_BYTES);
    assert_contains(end, "\\u000a...\" asked=\"\\u0022\\u0022");
    assert_contains(end, "\\u0022...\" client=\"\\u00ff\\u00ff");
    assert_contains(end, "\\u00ff...\" offer=\"\\u005c\\u005c");
    assert_contains(end, "\\u005c...\"\n");
    ck_assert_ptr_eq(strchr(end, '\n'), end + strlen(end) - 1);
}

/* ---- the table ------------------------------------------------------------------------------- */

union any {
    uint32_t type;
    struct ipc_start start;
    struct ipc_sign sign;
    struct sign_request exchange;
    struct ipc_prove prove;
    struct ipc_auth auth;
    struct auth_request login;
    struct ipc_note note;
    struct ipc_end end;
    char bytes[IPC_MONITOR_REQUEST_BYTES + 64];
};

/* The second copy of the matrix. */
static const struct {
    uint32_t type;
    size_t bytes; /* with the tail of make_good() */
    bool allowed[STAGES];
    size_t reply_bytes;
} matrix[] = {
    {IPC_START, 8, {true, false, false}, 4 + 32 + 4 + 32 + 4 + 2560},
    {IPC_SIGN, 88 + 3 + 16 + 64, {false, true, true}, 136},
    {IPC_PROVE, 8, {false, false, true}, 68},
    {IPC_AUTH, 28 + 256 + 64 + 64 + 51, {false, true, false}, 12},
    {IPC_NOTE, 12 + 5, {true, true, true}, 8},
    {IPC_END, 24 + 4 * 256, {true, true, true}, 0},
};

#define ROWS (sizeof(matrix) / sizeof(matrix[0]))

static union any make_good(uint32_t type)
{
    static union any good;
    memset(&good, 0, sizeof(good));
    good.type = type;
    switch (type) {
    case IPC_START:
        good.start.layers = ALL_LAYERS;
        break;
    case IPC_SIGN:
        make_sign(&good.exchange, 32, 0);
        break;
    case IPC_AUTH:
        good.login = make_auth("alice", 64);
        break;
    case IPC_NOTE:
        good.note.level = 1;
        good.note.text_bytes = 5;
        memcpy(good.bytes + sizeof(good.note), "hello", 5);
        break;
    case IPC_END:
        good.end.cause = IPC_END_CLIENT;
        break;
    default:
        break;
    }
    return good;
}

TEST_EACH(every_request_in_every_phase, (int)ROWS *STAGES)
{
    size_t row = (size_t)_i / STAGES;
    enum stage stage = (enum stage)((size_t)_i % STAGES);
    union any good = make_good(matrix[row].type);
    char reply[512];
    start_at(stage);
    if (!matrix[row].allowed[stage]) {
        assert_fatal(&good, matrix[row].bytes, "reason=\"request at the wrong time\"");
        return;
    }
    if (matrix[row].reply_bytes > 0) {
        ck_assert_int_eq(ask(&good, matrix[row].bytes, reply, sizeof(reply)),
                         (ssize_t)matrix[row].reply_bytes);
        do_end(IPC_END_CLIENT, "");
    } else {
        ck_assert_int_gt(send(ipc, &good, matrix[row].bytes, 0), 0);
    }
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
}

TEST_EACH(every_request_of_a_wrong_size, (int)ROWS * 4)
{
    size_t row = (size_t)_i / 4;
    union any good = make_good(matrix[row].type);
    enum stage stage = matrix[row].allowed[AT_START]       ? AT_START
                       : matrix[row].allowed[BEFORE_LOGIN] ? BEFORE_LOGIN
                                                           : AFTER_LOGIN;
    const size_t sizes[] = {matrix[row].bytes - 1, matrix[row].bytes + 1, 4, sizeof(good)};
    start_at(stage);
    assert_fatal(&good, sizes[_i % 4], "reason=\"request of a wrong size\"");
}

/* Includes the types that only the session process serves. */
static const uint32_t unknown_types[] = {0,          IPC_TYPES,  IPC_TYPES + 1, 255,
                                         0x7fffffff, 0xffffffff, IPC_PTY,       IPC_SPAWN,
                                         IPC_SIGNAL, IPC_RELEASE};

TEST_EACH(unknown_types_are_fatal, COUNT_OF(unknown_types))
{
    union any request = make_good(unknown_types[_i]);
    start_at(AFTER_LOGIN);
    assert_fatal(&request, 8, "reason=\"request of an unknown type\"");
}

TEST(requests_too_short_for_a_type)
{
    const uint8_t zeros[4] = {0};
    start_at(BEFORE_LOGIN);
    assert_fatal(zeros, 3, "reason=\"request of an unknown type\"");
}

TEST(descriptors_with_a_request_are_fatal)
{
    union any good = make_good(IPC_NOTE);
    start_at(BEFORE_LOGIN);
    send_with_descriptor(ipc, &good, 17);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"request of a wrong size\"");
}

/* Values out of range, one at a time: a number, or a text that fills its member. */
static const struct {
    uint32_t type;
    size_t offset, text_bytes;
    uint32_t number;
    size_t more; /* bytes behind the tail of make_good() */
} bad_values[] = {
#define NUMBER(type, request, member, ...)                                                         \
    {                                                                                              \
        type, offsetof(struct request, member), 0, __VA_ARGS__                                     \
    }
#define TEXT(type, request, member)                                                                \
    {                                                                                              \
        type, offsetof(struct request, member), sizeof(((struct request *)NULL)->member), 0, 0     \
    }
    NUMBER(IPC_SIGN, ipc_sign, hybrid, 2, 0),
    NUMBER(IPC_SIGN, ipc_sign, certified, 2, 0),
    NUMBER(IPC_SIGN, ipc_sign, certified, 1, 0), /* there is none */
    NUMBER(IPC_SIGN, ipc_sign, client_kexinit_bytes, 0xffffffff, 0),
    NUMBER(IPC_SIGN, ipc_sign, client_version_bytes, LIMIT_VERSION_LINE_BYTES + 1,
           LIMIT_VERSION_LINE_BYTES),
    NUMBER(IPC_PROVE, ipc_prove, key, 1, 0), /* nor a second key */
    NUMBER(IPC_PROVE, ipc_prove, key, 2, 0),
    NUMBER(IPC_AUTH, ipc_auth, stage, 3, 0),
    TEXT(IPC_AUTH, ipc_auth, user),
    NUMBER(IPC_NOTE, ipc_note, level, 0, 0), /* LOG_TROUBLE, which only the monitor may log */
    NUMBER(IPC_NOTE, ipc_note, level, 4, 0),
    NUMBER(IPC_NOTE, ipc_note, text_bytes, LIMIT_NOTE_BYTES + 1, LIMIT_NOTE_BYTES + 1 - 5),
    NUMBER(IPC_END, ipc_end, cause, 3, 0),
    TEXT(IPC_END, ipc_end, reason),
    TEXT(IPC_END, ipc_end, asked),
    TEXT(IPC_END, ipc_end, client),
    TEXT(IPC_END, ipc_end, offer),
};

TEST_EACH(values_out_of_range, COUNT_OF(bad_values))
{
    uint32_t type = bad_values[_i].type;
    union any bad = make_good(type);
    char *member = bad.bytes + bad_values[_i].offset;
    size_t bytes = bad_values[_i].more;
    for (size_t row = 0; row < ROWS; row++) {
        bytes += matrix[row].type == type ? matrix[row].bytes : 0;
    }
    if (bad_values[_i].text_bytes > 0) {
        memset(member, 'a', bad_values[_i].text_bytes);
    } else {
        memcpy(member, &bad_values[_i].number, sizeof(bad_values[_i].number));
    }
    start_at(type == IPC_AUTH ? BEFORE_LOGIN : AFTER_LOGIN);
    assert_fatal(&bad, bytes, "event=end ");
}

/* ---- counts ---------------------------------------------------------------------------------- */

TEST(signatures_before_login_are_counted)
{
    const union any good = make_good(IPC_SIGN);
    start();
    do_start();
    for (int i = 0; i < LIMIT_SIGNATURES_BEFORE_LOGIN; i++) {
        do_sign(64, 0);
    }
    assert_fatal(&good, 88 + HEAD_BYTES + 64, "too many key exchanges before the login");
}

/* What a network process has recorded is of no use to another one: the session identifier would be
 * another. The signature of a login covers it. */
TEST_EACH(the_first_exchange_has_the_cookie, SSH_COOKIE_BYTES + 1)
{
    struct sign_request request;
    size_t count = make_sign(&request, 32, 0);
    start();
    do_start();
    if (_i < SSH_COOKIE_BYTES) {
        request.tail[3 + _i] ^= 1;
    } else {
        request.sign.server_kexinit_bytes--; /* the cookie's last byte belongs to Q_C */
        count--;
    }
    assert_fatal(&request, count, "first key exchange with the cookie of another connection");
}

TEST(later_exchanges_have_any_cookie)
{
    struct sign_request request;
    struct ipc_sign_reply reply;
    size_t count = make_sign(&request, 32, 0);
    start();
    do_start();
    do_sign(64, 0);
    request.tail[3] ^= 1;
    ck_assert_int_eq(ask(&request, count, &reply, sizeof(reply)), sizeof(reply));
    request.sign.server_kexinit_bytes = 0;
    count -= 1 + SSH_COOKIE_BYTES;
    ck_assert_int_eq(ask(&request, count, &reply, sizeof(reply)), sizeof(reply));
    end_well();
}

/* string "hostkeys-prove-00@openssh.com", string session identifier, string key blob. */
static void expect_proof(const uint8_t key[static 32], const uint8_t signature[static 64])
{
    uint8_t session_id[64], data[256];
    struct fields proved = FIELDS_IN(data);
    expect_hash(session_id, 64, 0);
    fields_put(&proved, "sdk", "hostkeys-prove-00@openssh.com", session_id, sizeof(session_id),
               key);
    ck_assert_int_eq(crypto_sign_verify_detached(signature, data, proved.used, key), 0);
}

TEST(proofs_are_counted_for_each_key)
{
    struct hostkey both;
    int status;
    keygen_run(options.keydir, "ssh-keygen -q -t ed25519 -N '' -f ssh_host_ed25519_key");
    ck_assert_int_eq(hostkey_load(&both, options.keydir, &status), 0);
    ck_assert(both.has_second);
    start_at(AFTER_LOGIN);
    for (uint32_t i = 0; i < 2 * LIMIT_HOSTKEY_PROOFS; i++) {
        const struct ipc_prove request = {IPC_PROVE, i & 1};
        struct ipc_prove_reply reply;
        ck_assert_int_eq(ask(&request, sizeof(request), &reply, sizeof(reply)), sizeof(reply));
        ck_assert_uint_eq(reply.type, IPC_PROVE);
        expect_proof((i & 1) != 0 ? both.second.public_key : hostkey.first.public_key,
                     reply.signature);
    }
    const struct ipc_prove request = {IPC_PROVE, 1};
    assert_fatal(&request, sizeof(request), "too many proofs of a host key");
}

TEST(the_certificate_is_sent_and_hashed)
{
    static uint8_t all[8192];
    uint8_t h[64];
    struct hostkey loaded;
    struct ipc_start start_request = {IPC_START, ALL_LAYERS};
    struct ipc_start_reply start_reply;
    struct sign_request request;
    struct ipc_sign_reply reply;
    struct fields hashed = FIELDS_IN(all);
    int status;
    keygen_run(options.keydir,
               "rm -f ca* ed25519* .ed25519*; ssh-keygen -q -t ed25519 -N '' -f ca; "
               "ssh-keygen -q -t ed25519 -N '' -f ssh_host_ed25519_key; "
               "ssh-keygen -q -I i -h -s ca ssh_host_ed25519_key.pub");
    ck_assert_int_eq(hostkey_load(&loaded, options.keydir, &status), 0);
    start();
    ck_assert_int_eq(ask(&start_request, sizeof(start_request), &start_reply, sizeof(start_reply)),
                     sizeof(start_reply));
    ck_assert_uint_eq(start_reply.has_second, 0);
    ck_assert_uint_eq(start_reply.certificate_bytes, loaded.certificate_bytes);
    ck_assert_mem_eq(start_reply.certificate, loaded.certificate, loaded.certificate_bytes);
    size_t count = make_sign(&request, 32, 0);
    request.sign.certified = 1;
    ck_assert_int_eq(ask(&request, count, &reply, sizeof(reply)), sizeof(reply));
    const uint8_t *q_c = request.tail + HEAD_BYTES;
    fields_put(&hashed, "ssssddd", "c", "SSH-2.0-wrenssh_" WREN_VERSION, "I", "i" COOKIE,
               loaded.certificate, loaded.certificate_bytes, q_c, (size_t)32, q_c + 32, (size_t)32);
    secrets_put_k(&hashed, false, request.sign.secret);
    secrets_hash(false, all, hashed.used, h);
    ck_assert_mem_eq(reply.hash, h, 32);
    ck_assert_int_eq(crypto_sign_verify_detached(reply.signature, h, 32, loaded.first.public_key),
                     0);
    end_well();
}

TEST(signatures_after_login_are_not)
{
    start_at(AFTER_LOGIN);
    for (int i = 0; i < 3 * LIMIT_SIGNATURES_BEFORE_LOGIN; i++) {
        do_sign(i % 2 ? 32 : 64, (uint8_t)i);
    }
    end_well();
}

TEST(first_hash_is_the_session_id)
{
    for (int i = 0; i < 2; i++) {
        size_t bytes = i == 0 ? 32 : 64;
        const struct auth_request good = make_auth("alice", bytes);
        const struct auth_request longer = make_auth("alice", 96 - bytes);
        start();
        do_start();
        do_sign((uint32_t)bytes, 0);
        do_sign(i == 0 ? 64 : 32, 0); /* a rekey with the other hash */
        do_sign(32, 9);
        ck_assert_uint_eq(do_auth(&longer), IPC_VERDICT_REFUSED);
        ck_assert_uint_eq(do_auth(&good), IPC_VERDICT_ACCEPTED);
        end_well();
    }
}

TEST(login_before_a_hash_is_fatal)
{
    const struct auth_request request = make_auth("alice", 64);
    start();
    do_start();
    assert_fatal(&request, sizeof(request.auth) + sizeof(request.blob),
                 "before the first key exchange");
}

TEST(attempts_are_capped)
{
    struct auth_request request = make_auth("carol", 64);
    options.attempts = 2;
    start_at(BEFORE_LOGIN);
    ck_assert_uint_eq(do_auth(&request), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(do_auth(&request), IPC_VERDICT_LAST);
    request = make_auth("alice", 64);
    assert_fatal(&request, sizeof(request.auth) + sizeof(request.blob), "after the last attempt");
    assert_lacks(said, "verdict=accepted");
}

TEST(notes_are_logged_escaped_and_dropped)
{
    union any note = make_good(IPC_NOTE);
    struct ipc_done reply;
    memcpy(note.bytes + sizeof(note.note), "a\n\"\0b", 5);
    start();
    for (int i = 0; i < LIMIT_NOTES + 20; i++) {
        ck_assert_int_eq(ask(&note, 17, &reply, sizeof(reply)), sizeof(reply));
        ck_assert_uint_eq(reply.done, 1);
    }
    end_well();
    int lines = 0;
    for (const char *at = said; (at = strstr(at, "event=net text=\"a\\u000a\\u0022\\u0000b\"\n"));
         at++) {
        lines++;
    }
    ck_assert_int_eq(lines, LIMIT_NOTES);
}

/* ---- layers ---------------------------------------------------------------------------------- */

TEST(missing_layers_end_the_connection)
{
    const struct ipc_start none = {IPC_START, 0};
    const struct ipc_start some = {IPC_START, ALL_LAYERS & ~(uint32_t)SANDBOX_SECCOMP};
    options.best_effort = false;
    start();
    assert_fatal(&none, sizeof(none), "reason=\"sandbox layers missing: ");
    assert_contains(said, "no-new-privs,not-dumpable,rlimits,seccomp\"");
    assert_lacks(said, "landlock");
    ck_assert_int_eq(strstr(said, "root,uid,groups") != NULL, geteuid() == 0);
    start();
    assert_fatal(&some, sizeof(some), "reason=\"sandbox layers missing: seccomp\"");
}

/* A network process that is still root is refused even with -B. */
TEST(missing_layers_are_logged_with_best_effort)
{
    const struct ipc_start none = {IPC_START, 0};
    const struct ipc_start few = {IPC_START, SANDBOX_UID};
    struct ipc_start_reply reply;
    options.best_effort = true;
    start();
    ck_assert_int_eq(ask(&few, sizeof(few), &reply, sizeof(reply)), sizeof(reply));
    end_well();
    assert_contains(said, "event=connection layers=uid missing=");
    assert_contains(said, "rlimits,seccomp admission=none\n");
    if (geteuid() == 0) {
        start();
        assert_fatal(&none, sizeof(none), "reason=\"sandbox layers missing: root,uid,");
    }
}

/* ---- ends ------------------------------------------------------------------------------------ */

TEST_RANGE(login_deadline, AT_START, AFTER_LOGIN)
{
    int64_t before = clock_now_ms();
    options.login_seconds = 1;
    start_at((enum stage)_i);
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, _i == AT_START ? "reason=\"login deadline of 1 s\"\n"
                                         : "reason=\"login deadline of 1 s\" client=c\n");
    ck_assert_int_ge(clock_now_ms() - before, 1000);
}

/* Requests do not extend the deadline. */
TEST(busy_login_deadline)
{
    const union any note = make_good(IPC_NOTE);
    int64_t before = clock_now_ms();
    options.login_seconds = 1;
    start_at(BEFORE_LOGIN);
    while (clock_now_ms() - before < 15000) {
        char reply[16];
        struct pollfd waiting = {.fd = ipc, .events = POLLIN};
        if (send(ipc, &note, 17, MSG_NOSIGNAL) != 17 || poll(&waiting, 1, 5000) != 1 ||
            recv(ipc, reply, sizeof(reply), 0) <= 0) {
            break;
        }
    }
    ck_assert_int_lt(clock_now_ms() - before, 15000); /* it does end at all */
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, "login deadline");
}

TEST(no_deadline_after_login)
{
    options.login_seconds = 2; /* for start_at(), on a busy machine too */
    start_at(AFTER_LOGIN);
    usleep(2300000);
    do_sign(64, 1);
    end_well();
    assert_contains(said, "seconds=");
    ck_assert(strstr(said, "seconds=0 ") == NULL && strstr(said, "seconds=1 ") == NULL);
}

TEST(network_process_dies)
{
    start_at(BEFORE_LOGIN);
    order(DIES + SIGSYS);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said,
                    "reason=\"network process killed by signal " TEXT_OF(SIGSYS) " (seccomp?)\""
                                                                                 " client=c\n");
    assert_contains(said, " in=- out=- ");
    start_at(AFTER_LOGIN);
    order(DIES + SIGKILL);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"network process killed by signal 9\"\n");
    start_at(AFTER_LOGIN);
    order(3);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"network process exited with status 3 and gave no reason\"\n");
    start_at(BEFORE_LOGIN);
    order(ENTROPY_EXIT);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"network process got no random numbers\" client=c\n");
}

TEST(first_reason_stays)
{
    start_at(BEFORE_LOGIN);
    do_end(IPC_END_CLIENT, "the first");
    order(DIES + SIGSYS);
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, "reason=\"the first\"\n");
}

TEST(network_process_that_stays_is_killed)
{
    int64_t before = clock_now_ms();
    start_at(BEFORE_LOGIN);
    do_end(IPC_END_CLIENT, "bye");
    ck_assert_int_eq(finish_monitor(), 0);
    ck_assert_int_ge(clock_now_ms() - before, LIMIT_EXIT_MS - 100);
}

TEST(closed_socket_without_an_end)
{
    start_at(BEFORE_LOGIN);
    shutdown(ipc, SHUT_RDWR);
    order(0);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "exited with status 0 and gave no reason");
}

TEST(replies_that_nobody_reads)
{
    const union any note = make_good(IPC_NOTE);
    options.login_seconds = 3;
    start_at(BEFORE_LOGIN);
    process_send_until_closed(ipc, &note, 17);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "does not read its replies");
}

TEST(host_key_that_can_not_be_used)
{
    scratch_write(options.keydir, ".ed25519.sk", hostkey.first.secret_key, 63, 0600);
    start();
    ck_assert_int_eq(await_monitor(), 100);
    ck_assert_ptr_eq(strchr(said, '\n') + 1, said + strlen(said)); /* a single line */
    assert_contains(said, "event=trouble what=\"host key\" path=");
    assert_contains(said, "/.ed25519.sk reason=\"not 64 bytes long\"\n");
}

/* ---- signals --------------------------------------------------------------------------------- */

/* The network process sees the end of its socket, and can still send a DISCONNECT. */
TEST_EACH(signals_that_end_a_connection, 6)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    char wanted[64];
    start_at(_i / 3 == 0 ? BEFORE_LOGIN : AFTER_LOGIN);
    ck_assert_int_eq(kill(monitor, signals[_i % 3]), 0);
    ck_assert(process_hangs_up(ipc));
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
    snprintf(wanted, sizeof(wanted), "reason=\"ended by signal %d\"", signals[_i % 3]);
    assert_contains(said, wanted);
}

/* Starts a command. The reply's descriptors are dropped, so the command's input ends at once. */
static void run(const char *command)
{
    struct process_command request;
    struct ipc_done done;
    size_t bytes = process_command(&request, command);
    ck_assert_int_eq(send(session, &request, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
    ck_assert_int_eq(recv(session, &done, sizeof(done), 0), sizeof(done));
    ck_assert_uint_eq(done.done, 1);
}

/* ---- the slot in the table -------------------------------------------------------------------
 */

/* It knows how far the connection has got, until the login gives it up. */
TEST(the_slot_follows_the_connection)
{
    const struct auth_request carol = make_auth("carol", 64);
    make_table();
    start();
    do_start();
    ck_assert(is_slot_held());
    ck_assert_uint_eq(slot_phase(), SLOT_STARTED);
    do_sign(64, 0);
    ck_assert_uint_eq(slot_phase(), SLOT_EXCHANGED);
    ck_assert_uint_eq(do_auth(&carol), IPC_VERDICT_REFUSED);
    do_sign(64, 1);
    ck_assert_uint_eq(slot_phase(), SLOT_EXCHANGED);
    ck_assert_int_gt(penalty_until_ms(), clock_now_ms());
    do_login();
    ck_assert(!is_slot_held());
    ck_assert_int_le(penalty_until_ms(), clock_now_ms());
    run("exit 0");
    ck_assert(!is_slot_held());
    end_well();
    ck_assert_int_le(penalty_until_ms(), clock_now_ms());
    assert_contains(said, "missing=none\n"); /* no admission=none */
}

/* Others that are silent, as the table has them: this process holds their slots. */
static void be_silent(size_t count)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = offsetof(struct table_file, slots[SLOT + 1]),
                         .l_len = (off_t)(count * sizeof(struct slot))};
    for (size_t i = 0; i < count; i++) {
        const struct slot slot = {.phase = SLOT_STARTED, .holder = (int32_t)getpid()};
        const size_t offset = offsetof(struct table_file, slots) + (SLOT + 1 + i) * sizeof(slot);
        ck_assert_int_eq(pwrite(table, &slot, sizeof(slot), (off_t)offset), sizeof(slot));
    }
    ck_assert_int_eq(fcntl(table, F_SETLK, &lock), 0);
}

/* While many are silent, none may be for long. One may that has exchanged keys or sent one byte,
 * one beside few others, one whose bytes the kernel does not count (so all under an emulator), and
 * one that we have not greeted yet. */
enum { FEW, EXCHANGED, BEGUN, NO_TCP, NOT_GREETED, MANY };

TEST_RANGE(silence_beside_many, FEW, MANY + 1)
{
    make_table();
    be_silent(_i == FEW ? LIMIT_SILENT_FEW : LIMIT_SILENT_MANY);
    over_tcp = _i != NO_TCP;
    greets = _i != NOT_GREETED;
    bool ends = _i == MANY && !unit_is_emulated();
    start();
    do_start();
    if (_i == EXCHANGED) {
        do_sign(64, 0);
    } else if (_i == BEGUN) {
        ck_assert_int_eq(write(client, "S", 1), 1);
    }
    usleep((LIMIT_SILENT_MS + LIMIT_SILENT_LOOK_MS / 2) * 1000);
    if (!ends) {
        ck_assert(is_slot_held());
        do_end(IPC_END_CLIENT, "");
        order(0);
    }
    ck_assert_int_eq(finish_monitor(), 0);
    if (ends) {
        assert_contains(said, "reason=\"client is silent, and so are many others\"\n");
    }
}

/* By the connection's end: nothing was tried, keys were refused, the time ran out. Many refused
 * keys cost no more than one. */
TEST_EACH(the_penalty_of_an_end, 3)
{
    static const int64_t added_ms[] = {LIMIT_PENALTY_NOTHING_MS, LIMIT_PENALTY_REFUSED_MS,
                                       LIMIT_PENALTY_DEADLINE_MS};
    const struct auth_request carol = make_auth("carol", 64);
    const int64_t began_ms = clock_now_ms();
    make_table();
    options.login_seconds = _i < 2 ? 30 : 1;
    start_at(BEFORE_LOGIN);
    for (int i = 0; i < 2 * _i; i++) {
        ck_assert_uint_eq(do_auth(&carol), IPC_VERDICT_REFUSED);
    }
    if (_i < 2) {
        do_end(IPC_END_CLIENT, "client left");
        order(0);
    }
    ck_assert_int_eq(finish_monitor(), 0);
    ck_assert_int_ge(penalty_until_ms(), began_ms + OLD_PENALTY_MS + added_ms[_i]);
    ck_assert_int_le(penalty_until_ms(), clock_now_ms() + OLD_PENALTY_MS + added_ms[_i]);
    ck_assert(!is_slot_held());
}

/* Nothing but the log's line tells the client's network process: it may be an attacker's. */
TEST_RANGE(an_evicted_connection, AT_START, AFTER_LOGIN)
{
    char byte;
    const int64_t began_ms = clock_now_ms();
    make_table();
    start_at((enum stage)_i);
    while (!is_slot_held()) {
        usleep(1000);
    }
    ck_assert_int_eq(kill(monitor, ADMISSION_SIGNAL), 0);
    if (_i == AT_START) { /* it is not killed while it makes its root directory */
        ck_assert_int_eq(recv(ipc, &byte, 1, 0), 0);
        order(0);
    }
    ck_assert_int_eq(read(client, &byte, 1), 0);
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, _i == AT_START
                              ? "reason=\"evicted: a new connection needed the slot\"\n"
                              : "reason=\"evicted: a new connection needed the slot\" client=c\n");
    ck_assert_int_ge(penalty_until_ms(), began_ms + OLD_PENALTY_MS + LIMIT_PENALTY_NOTHING_MS);
    ck_assert_int_le(penalty_until_ms(),
                     clock_now_ms() + OLD_PENALTY_MS + LIMIT_PENALTY_NOTHING_MS);
}

/* The signal may have been sent just before the login. */
TEST(no_eviction_after_the_login)
{
    make_table();
    start_at(AFTER_LOGIN);
    ck_assert_int_eq(kill(monitor, ADMISSION_SIGNAL), 0);
    do_sign(64, 1);
    run("exit 0");
    do_end(IPC_END_CLIENT, "client left");
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, "reason=\"client left\"\n");
}

/* ---- a client that has gone -------------------------------------------------------------------
 */

/* A network process in an attacker's hands does not keep the processes of the connection. */
TEST_RANGE(network_process_without_a_client_is_killed, BEFORE_LOGIN, STAGES)
{
    int64_t before = clock_now_ms();
    over_tcp = true;
    start_at((enum stage)_i);
    ck_assert_int_eq(_i % 2 == 0 ? shutdown(client, SHUT_WR) : shutdown(client, SHUT_RDWR), 0);
    ck_assert_int_eq(finish_hanging_monitor(), 111);
    assert_contains(said, "reason=\"network process did not end with its connection\"");
    ck_assert(((enum stage)_i == BEFORE_LOGIN) == (strstr(said, "\" client=c\n") != NULL));
    ck_assert_int_ge(clock_now_ms() - before, LIMIT_GONE_MS - 100);
}

/* The login's end is a new deadline: the client's is looked for again. */
TEST(client_that_has_gone_before_the_login)
{
    start_at(BEFORE_LOGIN);
    shutdown(client, SHUT_WR);
    usleep(100000);
    do_login();
    ck_assert_int_eq(finish_hanging_monitor(), 111);
    assert_contains(said, "reason=\"network process did not end with its connection\"\n");
    assert_contains(said, "event=end user=alice ");
}

TEST(network_process_that_ends_with_its_client)
{
    start_at(AFTER_LOGIN);
    shutdown(client, SHUT_WR);
    do_sign(64, 1);
    do_end(IPC_END_CLIENT, "client left");
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, "reason=\"client left\"\n");
}

/* The end of the login's time may come first. */
TEST(login_deadline_without_a_client)
{
    options.login_seconds = 1;
    start_at(BEFORE_LOGIN);
    shutdown(client, SHUT_WR);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"network process did not end with its connection\" client=c\n");
}

/* ---- the bytes ------------------------------------------------------------------------------- */

/* The kernel's count takes precedence over the network process's. */
TEST_RANGE(the_kernels_count_wins, AT_START, STAGES)
{
    char bytes[64];
    if (unit_is_emulated()) {
        return; /* no TCP_INFO there */
    }
    over_tcp = true;
    start_at((enum stage)_i);
    ck_assert_int_eq(write(client, "twelve bytes", 12), 12);
    do_end(IPC_END_CLIENT, "bye");
    order(0);
    ck_assert_int_eq(read(client, bytes, sizeof(bytes)), 0); /* and the connection is shut down */
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, " in=12 out=0 ");
}

/* The client sees the end even if other processes have a copy of the connection. */
TEST(the_connection_is_shut_down)
{
    char byte;
    start_at(BEFORE_LOGIN);
    do_end(IPC_END_CLIENT, "bye");
    order(0);
    ck_assert_int_eq(read(client, &byte, 1), 0);
    ck_assert_int_eq(finish_monitor(), 0);
}

/* ---- children -------------------------------------------------------------------------------- */

static unsigned count_zombies(void)
{
    unsigned count = 0;
    FILE *listing = popen("cat /proc/[0-9]*/stat 2>/dev/null", "re");
    char line[1024];
    ck_assert_ptr_nonnull(listing);
    while (fgets(line, sizeof(line), listing) != NULL) {
        const char *behind = strrchr(line, ')');
        char state;
        int parent;
        if (behind != NULL && sscanf(behind + 1, " %c %d", &state, &parent) == 2) {
            count += state == 'Z' && parent == monitor;
        }
    }
    pclose(listing);
    return count;
}

/* While requests wait, the children of earlier ones are reaped. */
TEST(children_are_reaped_under_load)
{
    struct auth_request probe = make_auth("alice", 64);
    struct ipc_auth_reply reply;
    unsigned most = 0;
    probe.auth.stage = IPC_AUTH_PROBE;
    memset(probe.auth.signature, 0, sizeof(probe.auth.signature));
    start_at(BEFORE_LOGIN);
    for (int i = 0; i < LIMIT_AUTH_REQUESTS; i++) {
        memcpy(probe.auth.user, i % 2 == 0 ? "alice" : "bob\0\0", 5);
        ck_assert_int_eq(send(ipc, &probe, sizeof(probe.auth) + sizeof(probe.blob), 0),
                         sizeof(probe.auth) + sizeof(probe.blob));
    }
    for (int i = 0; i < LIMIT_AUTH_REQUESTS; i++) {
        ck_assert_int_eq(recv(ipc, &reply, sizeof(reply), 0), sizeof(reply));
        ck_assert_uint_eq(reply.verdict, IPC_VERDICT_ACCEPTED);
        if (i % 8 == 7) {
            unsigned zombies = count_zombies();
            most = zombies > most ? zombies : most;
        }
    }
    ck_assert_uint_lt(most, LIMIT_AUTH_REQUESTS / 2);
    const struct auth_request more = make_auth("alice", 64);
    assert_fatal(&more, sizeof(more.auth) + sizeof(more.blob), "too many login requests");
}

/* ---- the session process --------------------------------------------------------------------- */

TEST(session_over_its_socket)
{
    start_at(AFTER_LOGIN);
    run("exit 9");
    do_sign(64, 1);
    end_well();
    assert_contains(said, "event=session user=alice channel=5 kind=exec pty=none pid=");
}

/* Before the login there is no session process. */
TEST(no_session_before_the_login)
{
    const struct ipc_release request = {IPC_RELEASE, 0};
    start_at(BEFORE_LOGIN);
    struct pollfd waiting = {.fd = session, .events = POLLIN};
    ck_assert_int_eq(send(session, &request, sizeof(request), 0), sizeof(request));
    ck_assert_int_eq(poll(&waiting, 1, 200), 0);
    end_well();
}

/* If the user kills it, the user's connection ends, and the log has the reason. */
TEST(session_process_that_is_killed)
{
    start_at(AFTER_LOGIN);
    run("read nothing; kill -KILL $PPID");
    ck_assert(process_hangs_up(session));
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"session process killed by signal 9\"\n");
}

/* A rule that the network process breaks there is the reason of the end, and it is killed. */
TEST(rules_of_the_session_process)
{
    const union any wrong = make_good(IPC_NOTE);
    start_at(AFTER_LOGIN);
    ck_assert_int_eq(send(session, &wrong, 17, 0), 17);
    ck_assert_int_eq(finish_monitor(), 111);
    assert_contains(said, "reason=\"request of an unknown type\"\n");
}

/* It exits when the network process closes its socket; END on the other socket has the reason. */
TEST(session_socket_that_is_closed)
{
    start_at(AFTER_LOGIN);
    do_end(IPC_END_CLIENT, "client left");
    shutdown(session, SHUT_RDWR);
    order(0);
    ck_assert_int_eq(finish_monitor(), 0);
    assert_contains(said, "reason=\"client left\"\n");
}

TEST_EACH(session_process_ends_with_the_monitor, 2)
{
    int status;
    start_at(AFTER_LOGIN);
    if (_i == 0) {
        ck_assert_int_eq(kill(monitor, SIGKILL), 0);
        ck_assert_int_eq(waitpid(monitor, &status, 0), monitor);
    } else {
        do_end(IPC_END_CLIENT, "");
        order(0);
        ck_assert_int_eq(finish_hanging_monitor(), 0);
        return; /* the log's end was read, so the session process has exited */
    }
    ck_assert(process_hangs_up(session));
    order(0);
}

static void give_an_impossible_group(struct account *account, struct account_groups *groups)
{
    (void)groups;
    account->gid = (gid_t)-1;
}

/* The child could open files as this user, but the session process can't become it. */
TEST(user_that_the_session_process_can_not_become)
{
    const struct auth_request request = make_auth("alice", 64);
    if (geteuid() != 0) {
        return;
    }
    people->change_account = give_an_impossible_group;
    start_at(BEFORE_LOGIN);
    assert_fatal(&request, sizeof(request.auth) + sizeof(request.blob),
                 "reason=\"could not become the user\"");
    assert_contains(said, "event=trouble what=\"session process could not become the user\"");
    assert_contains(said, "event=end user=\"\" ");
}
