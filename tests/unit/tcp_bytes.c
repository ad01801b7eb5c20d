#include "monitor_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"
#include "unit.h"

static int client, server;

static void begin(void)
{
    int pair[2];
    loopback_connect(pair);
    server = pair[0];
    client = pair[1];
}

static void finish(void)
{
    close(client);
    close(server);
}

UNIT_FIXTURE(begin, finish);
UNIT_TIMEOUT(30);

static uint8_t data[100000];

static void send_all(int from, int to, size_t count)
{
    static uint8_t in[sizeof(data)];
    ck_assert_int_eq(send(from, data, count, 0), (ssize_t)count);
    ck_assert_int_eq(recv(to, in, count, MSG_WAITALL), (ssize_t)count);
}

/* What was sent counts at once or once it is acknowledged, as the kernel's age has it. */
static void expect(uint64_t received, uint64_t sent)
{
    uint64_t in = 0, out = 0;
    for (int turn = 0; turn < 500; turn++) {
        ck_assert(tcp_bytes(&in, &out, server));
        if (in == received && out == sent) {
            return;
        }
        usleep(10000);
    }
    ck_abort_msg("%llu in, %llu out", (unsigned long long)in, (unsigned long long)out);
}

TEST(both_directions_are_counted)
{
    if (unit_is_emulated()) {
        return; /* it passes on less of the kernel's answer */
    }
    expect(0, 0);
    send_all(client, server, 17);
    expect(17, 0);
    send_all(server, client, sizeof(data));
    expect(17, sizeof(data));
    send_all(client, server, 5);
    send_all(server, client, 1);
    expect(22, sizeof(data) + 1);
}

/* What the client does not take waits; nothing else does. */
TEST(waiting_bytes)
{
    ck_assert(!tcp_waits(server));
    ck_assert_int_eq(fcntl(server, F_SETFL, O_NONBLOCK), 0);
    while (send(server, data, sizeof(data), 0) > 0) {
    }
    ck_assert(tcp_waits(server));
    ck_assert(!tcp_waits(client));
    ck_assert(!tcp_waits(-1));
}

/* Unread bytes count, too, and no process that holds the socket can reduce the count. */
TEST(unread_bytes_count)
{
    if (unit_is_emulated()) {
        return;
    }
    ck_assert_int_eq(send(client, data, 300, 0), 300);
    expect(300, 0);
    shutdown(server, SHUT_RD);
    expect(300, 0);
}

TEST(other_descriptors_have_no_count)
{
    uint64_t in = 1, out = 2;
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert(!tcp_bytes(&in, &out, pair[0]));
    ck_assert(!tcp_bytes(&in, &out, datagrams));
    ck_assert(!tcp_bytes(&in, &out, STDERR_FILENO));
    ck_assert(!tcp_bytes(&in, &out, -1));
    ck_assert_uint_eq(in, 1);
    ck_assert_uint_eq(out, 2);
}
