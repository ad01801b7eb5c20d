#include "net.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channels.h"
#include "rig.h"
#include "unit.h"

static struct rig rig;

static const struct net_options all = {
    .login_seconds = 60, .idle_seconds = 500, .life_seconds = 1000, .keepalive_seconds = 100};

static void start(void)
{
    rig_open(&rig, SSH_PHASE_OPEN);
    rig.options = all;
    rig.connection->kex.session_id_bytes = 32;
}

UNIT_FIXTURE(start, NULL);

/* What a client does or not is in the members of the connection; here its times, in seconds. */
static void at(uint64_t seconds)
{
    rig.connection->now_ms = seconds * 1000;
    deadlines_check(rig.connection);
}

static void read_at(uint64_t seconds)
{
    rig.connection->times.read_ms = seconds * 1000;
}

static void used_at(uint64_t seconds)
{
    rig.connection->times.used_ms = seconds * 1000;
}

static void expect_next(uint64_t seconds)
{
    ck_assert_uint_eq(deadlines_next_ms(rig.connection), seconds * 1000);
}

static void expect_keepalive(void)
{
    rig_expect(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", "keepalive@openssh.com", 1);
    rig_expect_silence(&rig);
}

static void expect_refused(uint32_t code, const char *reason)
{
    rig_expect(&rig, SSH_MSG_DISCONNECT, "uss", code, reason, "");
    rig_expect_left(&rig, reason);
}

static struct channel *terminal(size_t index, bool has_pty)
{
    struct channel *channel = &rig.connection->channels[index];
    rig.connection->channels_used = index + 1;
    channel->output = OUTPUT_OPEN;
    channel->has_pty = has_pty;
    channel->remote_window = channel->remote_packet = 1000;
    return channel;
}

/* A key exchange in any state: ours has begun, the client's has, or only its NEWKEYS is missing. */
enum { EXCHANGES = 3 };

static void exchange(int state)
{
    static const enum ssh_phase phases[EXCHANGES] = {SSH_PHASE_OPEN, SSH_PHASE_REKEY_ECDH,
                                                     SSH_PHASE_REKEY_NEWKEYS};
    rig.connection->phase = phases[state];
    rig.connection->resume = SSH_PHASE_OPEN;
    rig.connection->kex.sent = state < 2;
}

/* ---- one deadline each ----------------------------------------------------------------------- */

TEST(login)
{
    rig.connection->phase = SSH_PHASE_AUTH;
    expect_next(60);
    at(59);
    rig_expect_alive(&rig, SSH_PHASE_AUTH);
    at(60);
    expect_refused(SSH_DISCONNECT_BY_APPLICATION, "login deadline of 60 s");
}

TEST_EACH(idle, EXCHANGES + 1)
{
    rig.options.keepalive_seconds = 0;
    if (_i < EXCHANGES) {
        exchange(_i);
    }
    enum ssh_phase phase = rig.connection->phase;
    used_at(7);
    expect_next(507);
    at(506);
    rig_expect_alive(&rig, phase);
    at(507);
    expect_refused(SSH_DISCONNECT_BY_APPLICATION, "idle for 500 s");
}

TEST_EACH(life, 2)
{
    rig.connection->times.warned = true;
    rig.options.idle_seconds = rig.options.keepalive_seconds = 0;
    rig.connection->times.start_ms = 5000;
    expect_next(1005);
    at(1004);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    rig.connection->phase = _i == 0 ? SSH_PHASE_OPEN : SSH_PHASE_REKEY_ECDH;
    rig.connection->resume = SSH_PHASE_OPEN;
    at(1005);
    expect_refused(SSH_DISCONNECT_BY_APPLICATION, "longest life of 1000 s");
}

/* A client that is asleep answers our KEXINIT when it wakes up, and an idle one gets none. */
TEST_EACH(none, EXCHANGES + 1)
{
    rig.options = (struct net_options){.login_seconds = 60};
    if (_i < EXCHANGES) {
        exchange(_i);
    }
    enum ssh_phase phase = rig.connection->phase;
    ck_assert_uint_eq(deadlines_next_ms(rig.connection), UINT64_MAX);
    at(1000000000);
    rig_expect_alive(&rig, phase);
    rig_expect_silence(&rig);
}

/* Before the login the login's deadline counts in a key exchange as well. */
TEST_EACH(login_in_a_key_exchange, EXCHANGES)
{
    exchange(_i);
    rig.connection->phase = _i == 0 ? SSH_PHASE_AUTH : rig.connection->phase;
    rig.connection->resume = SSH_PHASE_AUTH;
    expect_next(60);
    at(60);
    expect_refused(SSH_DISCONNECT_BY_APPLICATION, "login deadline of 60 s");
}

/* ---- the warning ----------------------------------------------------------------------------- */

#define WARNING "\r\nwrensshd: this connection ends in 60 seconds\r\n"

TEST(terminals_are_warned)
{
    rig.options.idle_seconds = rig.options.keepalive_seconds = 0;
    terminal(0, true)->remote = 7;
    terminal(1, false);
    terminal(2, true)->remote = 9;
    struct channel *full = terminal(3, true);
    full->remote_window = sizeof(WARNING) - 2;
    expect_next(940);
    at(939);
    rig_expect_silence(&rig);
    at(940);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", 7, WARNING);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", 9, WARNING);
    ck_assert_uint_eq(rig.connection->channels[0].remote_window, 1000 - strlen(WARNING));
    rig_expect_silence(&rig);
    at(941);
    rig_expect_silence(&rig);
    expect_next(1000);
}

TEST_EACH(a_short_life_has_no_warning, 2)
{
    rig.options.life_seconds = LIMIT_WARNING_SECONDS + (unsigned)_i;
    rig.options.idle_seconds = rig.options.keepalive_seconds = 0;
    terminal(0, true);
    at(1);
    expect_next(_i == 0 ? LIMIT_WARNING_SECONDS : LIMIT_WARNING_SECONDS + 1);
    ck_assert(rig.connection->times.warned == (_i == 1));
}

/* ---- keepalives ------------------------------------------------------------------------------ */

TEST(silence_is_asked_three_times)
{
    rig.options.idle_seconds = 0;
    read_at(10);
    expect_next(110);
    at(109);
    rig_expect_silence(&rig);
    for (uint64_t i = 1; i <= LIMIT_KEEPALIVES; i++) {
        at(10 + 100 * i);
        expect_keepalive();
        expect_next(10 + 100 * (i + 1));
    }
    at(410);
    rig_expect_left(&rig, "client did not answer 3 keepalives");
}

TEST(an_answer_starts_the_count_anew)
{
    rig.options.idle_seconds = 0;
    at(100);
    expect_keepalive();
    at(200);
    expect_keepalive();
    read_at(201);
    expect_next(301);
    for (uint64_t i = 0; i < LIMIT_KEEPALIVES; i++) {
        at(301 + 100 * i);
        expect_keepalive();
    }
    at(601);
    rig_expect_left(&rig, "client did not answer 3 keepalives");
}

/* Our KEXINIT asks as well: no other question is sent, but the client's silence counts. */
TEST_EACH(keepalives_in_a_key_exchange, EXCHANGES)
{
    rig.options.idle_seconds = 0;
    exchange(_i);
    for (uint64_t i = 1; i <= LIMIT_KEEPALIVES; i++) {
        at(100 * i);
        if (rig.connection->kex.sent) {
            rig_expect_silence(&rig);
            ck_assert_uint_eq(rig.connection->deferred_bytes, 0);
        } else {
            expect_keepalive();
        }
        rig_expect_alive(&rig, rig.connection->phase);
    }
    at(400);
    rig_expect_left(&rig, "client did not answer 3 keepalives");
}

TEST(no_keepalive_before_the_login)
{
    rig.connection->phase = SSH_PHASE_AUTH;
    rig.options.login_seconds = 1000;
    at(500);
    rig_expect_silence(&rig);
    expect_next(1000);
}

/* A client that takes no output is not asked, and counted all the same. */
TEST(no_room_to_ask)
{
    rig.options.idle_seconds = 0;
    rig.connection->output_end = LIMIT_OUTPUT_BYTES;
    for (uint64_t i = 1; i <= LIMIT_KEEPALIVES; i++) {
        at(100 * i);
        ck_assert_uint_eq(rig.connection->output_end, LIMIT_OUTPUT_BYTES);
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    }
    at(400);
    ck_assert_str_eq(rig.connection->end.reason, "client did not answer 3 keepalives");
}

/* ---- a slow link ----------------------------------------------------------------------------- */

/* A program has written this much; what the link has not carried waits here or in the kernel. */
#define QUEUED 100000

static void queue(void)
{
    rig.connection->output_end += QUEUED;
}

/* The socket takes this much of the output. */
static void take(size_t count)
{
    rig.connection->output_start += count;
    rig.connection->socket.bytes_out += count;
}

static size_t waiting(void)
{
    return rig.connection->output_end - rig.connection->output_start;
}

/* A question behind other output is not a question yet. When it has left, its time begins. */
TEST_EACH(a_question_behind_output, 2)
{
    rig.options = (struct net_options){.keepalive_seconds = 100};
    rig.connection->kex.sent = _i == 1; /* the question is our KEXINIT, and has been sent already */
    queue();
    at(100);
    size_t question = waiting() - QUEUED;
    ck_assert((question > 0) == (_i == 0));
    for (uint64_t i = 2; i <= 10; i++) {
        take(QUEUED / 10);
        at(100 * i);
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    }
    ck_assert_uint_eq(waiting(), QUEUED / 10 + question);
    take(waiting());
    at(1100);
    at(1200);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    at(1300);
    ck_assert_str_eq(rig.connection->end.reason, "client did not answer 3 keepalives");
}

/* Output that stays where it is does not count. */
TEST(a_question_behind_output_that_nobody_takes)
{
    rig.options.idle_seconds = 0;
    queue();
    for (uint64_t i = 1; i <= LIMIT_KEEPALIVES; i++) {
        at(100 * i);
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    }
    at(400);
    ck_assert_str_eq(rig.connection->end.reason, "client did not answer 3 keepalives");
}

/* Sessions are not idle while the client takes what they have written. */
TEST_EACH(output_on_its_way_is_not_idle, 2)
{
    rig.options = (struct net_options){.idle_seconds = 500};
    rig.connection->socket.bytes_out = UINT32_MAX - QUEUED / 2; /* the count wraps */
    queue();
    for (uint64_t i = 1; i <= 5; i++) {
        at(500 * i);
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
        expect_next(500 * (i + 1));
        take(QUEUED / 10);
    }
    if (_i == 0) {
        take(waiting());
    } else { /* the client takes no more */
        at(3000);
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    }
    at(3500);
    ck_assert_str_eq(rig.connection->end.reason, "idle for 500 s");
}

/* What the socket has taken is on its way until TCP has an acknowledgement. */
TEST(only_tcp_knows_what_has_arrived)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof(address);
    static uint8_t block[QUEUED];
    const int small = 4096, on = 1;
    int door = socket(AF_INET, SOCK_STREAM, 0), far = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(far, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    ck_assert_int_eq(bind(door, (struct sockaddr *)&address, bytes), 0);
    ck_assert_int_eq(listen(door, 1), 0);
    ck_assert_int_eq(getsockname(door, (struct sockaddr *)&address, &bytes), 0);
    ck_assert_int_eq(connect(far, (struct sockaddr *)&address, bytes), 0);
    int near = accept4(door, NULL, NULL, SOCK_NONBLOCK);
    setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ck_assert_int_eq(dup2(near, STDOUT_FILENO), STDOUT_FILENO);
    rig.connection->socket.tcp = true;
    rig.options = (struct net_options){.keepalive_seconds = 100};

    ssize_t written = write(STDOUT_FILENO, block, sizeof(block));
    ck_assert_int_gt(written, 50000); /* far more than the other end takes */
    rig.connection->socket.bytes_out = (uint64_t)written;
    at(100);
    for (uint64_t i = 2; i <= 10; i++) {
        int before, now;
        ck_assert_int_eq(ioctl(near, TIOCOUTQ, &before), 0);
        do {
            ck_assert_int_gt(recv(far, block, 1000, 0), 0);
            ck_assert_int_eq(ioctl(near, TIOCOUTQ, &now), 0);
        } while (now == before);
        at(100 * i);
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    }
    at(1100);
    at(1200);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    at(1300);
    ck_assert_str_eq(rig.connection->end.reason, "client did not answer 3 keepalives");
}
