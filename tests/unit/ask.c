/*
 * Requests have exactly their size. Only a reply of the right type and size is accepted. Any other
 * ends the connection, or the request fails and no descriptor stays open.
 */
#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "rig.h"
#include "unit.h"

static struct rig rig;
static int null;
static int send_error, receive_error; /* 0: the kernel's answer */

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    errno = send_error;
    return send_error != 0 ? -1 : syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    errno = receive_error;
    return receive_error != 0 ? -1 : syscall(SYS_recvmsg, fd, message, flags);
}

static int program_fds[IPC_REPLY_DESCRIPTORS];

static void start(void)
{
    signal(SIGPIPE, SIG_DFL);
    rig_open(&rig, SSH_PHASE_OPEN);
    channel_init(&rig.connection->channels[3]);
    rig.connection->channels[3].output = OUTPUT_WAITING;
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
}

UNIT_FIXTURE(start, NULL);

/* ---- each request ---------------------------------------------------------------------------- */

static bool do_start(void)
{
    return ask_start(rig.connection, 0x55);
}

static bool do_sign(void)
{
    static const uint8_t secret[64] = {7}, q[32] = {9};
    static struct ipc_sign_reply reply;
    return ask_sign(rig.connection, secret, q, sizeof(q), q, sizeof(q), &reply);
}

static bool do_prove(void)
{
    uint8_t signature[64];
    return ask_prove(rig.connection, 1, signature);
}

static bool do_auth(void)
{
    struct ipc_auth request = {.stage = IPC_AUTH_SIGNED, .user = "bob", .blob_bytes = 5};
    enum ipc_verdict verdict;
    return ask_auth(rig.connection, &request, "12345", &verdict);
}

static bool do_pty(void)
{
    struct winsize size = {.ws_col = 80};
    struct termios modes = {0};
    int master = -1;
    bool done = ask_pty(rig.connection, &rig.connection->channels[3], &size, &modes, &master);
    ck_assert_int_eq(done, master >= 0);
    if (done) {
        close(master);
    }
    return done;
}

static bool do_spawn(void)
{
    return ask_spawn(rig.connection, &rig.connection->channels[3], IPC_SESSION_EXEC, "ls", 2,
                     program_fds);
}

static bool do_signal(void)
{
    return ask_signal(rig.connection, &rig.connection->channels[3], SIGINT);
}

static bool do_release(void)
{
    return ask_release(rig.connection, &rig.connection->channels[3]);
}

static bool do_note(void)
{
    return ask_note(rig.connection, LOG_DETAIL, "a note");
}

static const struct request {
    uint32_t type;
    size_t request_bytes, reply_bytes, descriptors;
    bool (*ask)(void);
} requests[] = {
    {IPC_START, sizeof(struct ipc_start), sizeof(struct ipc_start_reply), 0, do_start},
    {IPC_SIGN, sizeof(struct ipc_sign) + 64, sizeof(struct ipc_sign_reply), 0, do_sign},
    {IPC_PROVE, sizeof(struct ipc_prove), sizeof(struct ipc_prove_reply), 0, do_prove},
    {IPC_AUTH, sizeof(struct ipc_auth) + 5, sizeof(struct ipc_auth_reply), 0, do_auth},
    {IPC_PTY, sizeof(struct ipc_pty), sizeof(struct ipc_done), 1, do_pty},
    {IPC_SPAWN, sizeof(struct ipc_spawn) + 2, sizeof(struct ipc_done), 4, do_spawn},
    {IPC_SIGNAL, sizeof(struct ipc_signal), sizeof(struct ipc_done), 0, do_signal},
    {IPC_RELEASE, sizeof(struct ipc_release), sizeof(struct ipc_done), 0, do_release},
    {IPC_NOTE, sizeof(struct ipc_note) + 6, sizeof(struct ipc_done), 0, do_note},
};

#define REQUESTS (int)(sizeof(requests) / sizeof(requests[0]))

/* A reply of this type, size and number of descriptors, saying 1 where it says anything. */
static void lay_out(uint32_t type, size_t reply_bytes, uint32_t done, size_t descriptors)
{
    uint8_t reply[4096];
    const int fds[8] = {null, null, null, null, null, null, null, null};
    memset(reply, 0, sizeof(reply));
    done = type == IPC_SIGN ? 32 : done; /* there it is the length of the hash */
    memcpy(reply, &type, sizeof(type));
    memcpy(reply + sizeof(type), &done, sizeof(done));
    rig_reply_descriptors(&rig, reply, reply_bytes, fds, descriptors);
}

TEST_EACH(the_right_reply, REQUESTS)
{
    const struct request *request = &requests[_i];
    static uint8_t heard[IPC_SESSION_REQUEST_BYTES]; /* the longer of the two */
    lay_out(request->type, request->reply_bytes, 1, request->descriptors);
    ck_assert(request->ask());
    ck_assert(!rig.connection->end.reached);
    ck_assert_uint_eq(rig_request(&rig, request->type, heard, sizeof(heard)),
                      request->request_bytes);
}

TEST_EACH(the_start_tells_the_host_keys, 2)
{
    struct ipc_start_reply reply = {.type = IPC_START, .has_second = 1, .certificate_bytes = 700};
    const struct host_keys *keys = &rig.connection->host_keys;
    memset(reply.host_public_key, 1, sizeof(reply.host_public_key));
    memset(reply.second_public_key, 2, sizeof(reply.second_public_key));
    memset(reply.certificate, 3, reply.certificate_bytes);
    rig_reply(&rig, &reply, sizeof(reply));
    ck_assert(do_start());
    ck_assert_uint_eq(keys->count, 2);
    ck_assert_mem_eq(keys->public_keys[0], reply.host_public_key, 32);
    ck_assert_mem_eq(keys->public_keys[1], reply.second_public_key, 32);
    ck_assert_uint_eq(keys->certificate_bytes, 700);
    ck_assert_mem_eq(rig.connection->certificate, reply.certificate, 700);
    if (_i == 0) {
        reply.has_second = 2;
    } else {
        reply.certificate_bytes = LIMIT_HOST_CERTIFICATE_BYTES + 1;
    }
    rig_reply(&rig, &reply, sizeof(reply));
    ck_assert(!do_start());
    rig_expect_failed(&rig, "the monitor gave a wrong reply");
}

static void expect_gone(const struct request *request)
{
    rig_expect_failed(&rig, request->type < IPC_PTY ? "the monitor " : "the session process ");
}

TEST_EACH(a_reply_of_another_type, REQUESTS)
{
    lay_out(requests[_i].type + 1, requests[_i].reply_bytes, 1, 0);
    ck_assert(!requests[_i].ask());
    expect_gone(&requests[_i]);
}

TEST_EACH(a_reply_of_another_size, 2 * REQUESTS)
{
    size_t size = requests[_i / 2].reply_bytes;
    lay_out(requests[_i / 2].type, _i % 2 == 0 ? size - 4 : size / 2, 1, 0);
    ck_assert(!requests[_i / 2].ask());
    expect_gone(&requests[_i / 2]);
}

/* A longer reply must not be cut to the right size and accepted. */
TEST_EACH(a_longer_reply, REQUESTS)
{
    lay_out(requests[_i].type, requests[_i].reply_bytes + 4, 1, requests[_i].descriptors);
    ck_assert(!requests[_i].ask());
    expect_gone(&requests[_i]);
}

/* The start of a program may hang on a dead file system: the wait ends when the client leaves. */
TEST_EACH(no_reply, REQUESTS)
{
    close(rig_client());
    ck_assert(!requests[_i].ask());
    rig_expect_left(&rig, "client left while a request was under way");
}

/* While the client is there, the reply may take longer than the socket waits at once. */
TEST_EACH(a_late_reply, REQUESTS)
{
    int client = rig_client();
    pid_t later = fork();
    if (later == 0) {
        usleep(350000);
        lay_out(requests[_i].type, requests[_i].reply_bytes, 1, requests[_i].descriptors);
        _exit(0);
    }
    ck_assert_int_eq(write(client, "from the client", 15), 15); /* its data does not end the wait */
    ck_assert(requests[_i].ask());
    ck_assert(!rig.connection->end.reached);
    ck_assert_int_eq(waitpid(later, NULL, 0), later);
    close(client);
}

TEST_EACH(the_other_end_is_closed, REQUESTS)
{
    int *end = requests[_i].type < IPC_PTY ? &rig.monitor : &rig.session;
    close(*end);
    *end = -1;
    ck_assert(!requests[_i].ask());
    expect_gone(&requests[_i]);
}

/* An error that does not say that the process has ended. */
TEST_EACH(a_call_that_fails, 2 * REQUESTS)
{
    const struct request *request = &requests[_i / 2];
    *(_i % 2 == 0 ? &send_error : &receive_error) = _i % 2 == 0 ? EMSGSIZE : ENOMEM;
    ck_assert(!request->ask());
    send_error = receive_error = 0;
    rig_expect_failed(&rig, request->type < IPC_PTY ? "the monitor could not be asked"
                                                    : "the session process could not be asked");
}

TEST_EACH(another_number_of_descriptors, 7 * REQUESTS)
{
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 8};
    const struct request *request = &requests[_i / 7];
    size_t count = counts[_i % 7];
    if (count == request->descriptors || (count > IPC_REPLY_DESCRIPTORS && unit_is_emulated())) {
        return;
    }
    int before = rig_open_descriptors();
    lay_out(request->type, request->reply_bytes, 1, count);
    /* What was cut off is given up: the session process has done its part. */
    bool given_up = request->descriptors > 0 && count > IPC_REPLY_DESCRIPTORS;
    if (given_up) {
        rig_reply_done(&rig, IPC_RELEASE, 1);
    }
    ck_assert(!request->ask());
    ck_assert_int_eq(rig_open_descriptors(), before);
    if (given_up) {
        static uint8_t heard[IPC_SESSION_REQUEST_BYTES];
        rig_request(&rig, request->type, heard, sizeof(heard));
        rig_request(&rig, IPC_RELEASE, heard, sizeof(heard));
    }
}

/* The session process has given the terminal up: the next program of the channel has none. */
TEST(a_terminal_goes_with_what_was_cut_off)
{
    struct channel *channel = &rig.connection->channels[3];
    if (unit_is_emulated()) {
        return;
    }
    channel->has_pty = true;
    channel->child_stdout = dup(null);
    lay_out(IPC_SPAWN, sizeof(struct ipc_done), 1, 8);
    rig_reply_done(&rig, IPC_RELEASE, 1);
    ck_assert(!do_spawn());
    ck_assert(!channel->has_pty && channel->child_stdout < 0);
    lay_out(IPC_SPAWN, sizeof(struct ipc_done), 1, IPC_REPLY_DESCRIPTORS);
    ck_assert(do_spawn());
    ck_assert(!rig.connection->end.reached);
}

TEST_RANGE(not_done, 4, REQUESTS)
{
    int before = rig_open_descriptors();
    lay_out(requests[_i].type, requests[_i].reply_bytes, 0, 0);
    ck_assert(!requests[_i].ask());
    ck_assert(!rig.connection->end.reached);
    ck_assert_int_eq(rig_open_descriptors(), before);
}

/* ---- contents -------------------------------------------------------------------------------- */

TEST(the_host_key_and_the_layers)
{
    struct ipc_start_reply reply = {.type = IPC_START};
    struct ipc_start request;
    memset(reply.host_public_key, 0x77, sizeof(reply.host_public_key));
    rig_reply(&rig, &reply, sizeof(reply));
    ck_assert(do_start());
    rig_request(&rig, IPC_START, &request, sizeof(request));
    ck_assert_uint_eq(request.layers, 0x55);
    ck_assert_mem_eq(rig.connection->host_keys.public_keys[0], reply.host_public_key, 32);
}

TEST(the_descriptors_find_their_places)
{
    const struct ipc_done done = {.type = IPC_SPAWN, .done = 1};
    int ends[8], given[4];
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pipe2(ends + 2 * i, O_NONBLOCK | O_CLOEXEC), 0);
        given[i] = ends[2 * i + (i == 0 ? 1 : 0)];
    }
    rig_reply_descriptors(&rig, &done, sizeof(done), given, 4);
    ck_assert(do_spawn());
    char byte = 0;
    ck_assert_int_eq(write(program_fds[0], "i", 1), 1);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    const int *ours = program_fds + 1;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(write(ends[2 * (i + 1) + 1], &"oex"[i], 1), 1);
        ck_assert_int_eq(read(ours[i], &byte, 1), 1);
        ck_assert_int_eq(byte, "oex"[i]);
        ck_assert_int_ne(fcntl(ours[i], F_GETFD) & FD_CLOEXEC, 0);
    }
    for (int i = 0; i < 8; i++) {
        close(ends[i]);
    }
}

TEST(a_long_note_is_cut_off)
{
    struct {
        struct ipc_note note;
        char text[LIMIT_NOTE_BYTES + 1];
    } request;
    char text[1000];
    memset(text, 'n', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    rig_reply_done(&rig, IPC_NOTE, 1);
    ck_assert(ask_note(rig.connection, LOG_TRACE, text));
    size_t count = rig_request(&rig, IPC_NOTE, &request, sizeof(request));
    ck_assert_uint_eq(request.note.level, LOG_TRACE);
    ck_assert_uint_eq(request.note.text_bytes, LIMIT_NOTE_BYTES);
    ck_assert_uint_eq(count, sizeof(request.note) + LIMIT_NOTE_BYTES);
}

TEST(the_end_tells_why_and_how_much)
{
    struct ipc_end request;
    rig.connection->socket.bytes_in = 1ULL << 40;
    rig.connection->socket.bytes_out = 12345;
    memset(rig.connection->asked, 'u', sizeof(rig.connection->asked) - 1);
    memset(rig.connection->client_version, 'v', sizeof(rig.connection->client_version) - 1);
    memset(rig.connection->end.offer, 'o', sizeof(rig.connection->end.offer) - 1);
    connection_fail(rig.connection, "for a reason");
    ask_end(rig.connection);
    ck_assert_uint_eq(rig_request(&rig, IPC_END, &request, sizeof(request)), sizeof(request));
    ck_assert_uint_eq(request.cause, IPC_END_OURS);
    ck_assert_uint_eq(request.bytes_in, 1ULL << 40);
    ck_assert_uint_eq(request.bytes_out, 12345);
    ck_assert_str_eq(request.reason, "for a reason");
    ck_assert_str_eq(request.asked, rig.connection->asked);
    ck_assert_str_eq(request.client, rig.connection->client_version);
    ck_assert_str_eq(request.offer, rig.connection->end.offer);
}
