#include "base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

/* Two connected sockets over loopback; `client` and `server` are addresses as text. */
static int connect_pair(const char *address, bool mapped, int *client)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6};
    socklen_t at_bytes = sizeof(at);
    int any = 0;
    ck_assert_int_eq(inet_pton(AF_INET6, address, &at.sin6_addr), 1);
    int listener = socket(AF_INET6, SOCK_STREAM, 0);
    if (mapped) {
        setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &any, sizeof(any));
    }
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0) {
        return -1; /* a machine without IPv6 */
    }
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &at_bytes), 0);
    *client = socket(AF_INET6, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(*client, (struct sockaddr *)&at, sizeof(at)), 0);
    int server = accept(listener, NULL, NULL);
    ck_assert_int_ge(server, 0);
    close(listener);
    return server;
}

static void check_tcp(const char *bound, bool mapped, const char *expected)
{
    struct peer peer;
    struct sockaddr_in6 near, far;
    socklen_t bytes = sizeof(near);
    int client;
    setenv("TCPREMOTEIP", "192.0.2.99", 1);
    int server = connect_pair(bound, mapped, &client);
    if (server < 0) {
        return;
    }
    getsockname(client, (struct sockaddr *)&far, &bytes);
    bytes = sizeof(near);
    getsockname(server, (struct sockaddr *)&near, &bytes);
    peer_learn(&peer, server);
    ck_assert_str_eq(peer.address, expected);
    ck_assert_str_eq(peer.local_address, expected);
    ck_assert_int_eq(atoi(peer.port), ntohs(far.sin6_port));
    ck_assert_int_eq(atoi(peer.local_port), ntohs(near.sin6_port));
    ck_assert(peer.tcp);
    ck_assert(peer.has_ip);
}

TEST(ipv6_socket)
{
    check_tcp("::1", false, "::1");
}

TEST(mapped_socket_is_ipv4)
{
    check_tcp("::ffff:127.0.0.1", true, "127.0.0.1");
}

TEST(ipv4_socket)
{
    struct peer peer;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t at_bytes = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    getsockname(listener, (struct sockaddr *)&at, &at_bytes);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    peer_learn(&peer, accept(listener, NULL, NULL));
    ck_assert_str_eq(peer.address, "127.0.0.1");
    ck_assert_int_eq(atoi(peer.local_port), ntohs(at.sin_port));
    ck_assert(peer.tcp);
}

static void learn_from(struct peer *peer, bool socket_given)
{
    int pair[2];
    if (socket_given) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    } else {
        ck_assert_int_eq(pipe(pair), 0);
    }
    peer_learn(peer, pair[0]);
    ck_assert(!peer->tcp);
}

TEST(without_an_address)
{
    struct peer peer;
    char expected[32];
    clearenv();
    learn_from(&peer, true);
    snprintf(expected, sizeof(expected), "unix:%u", (unsigned)geteuid());
    ck_assert_str_eq(peer.address, expected);
    ck_assert_str_eq(peer.local_address, "unix");
    ck_assert_str_eq(peer.port, "0");
    ck_assert(!peer.has_ip);
    learn_from(&peer, false);
    ck_assert_str_eq(peer.address, "pipe");
    ck_assert_str_eq(peer.local_address, "pipe");
    ck_assert_str_eq(peer.local_port, "0");
    ck_assert(!peer.has_ip);
}

/* What the kernel says of a vsock; 0: the system's own answers. */
static sa_family_t family;
static uint32_t vsock_port, vsock_cid;

/* Replace libc's: not every machine has vsock. */
static int answer(struct sockaddr *address, socklen_t *bytes, uint32_t more)
{
    const uint32_t fields[3] = {family, vsock_port + more, vsock_cid + more};
    ck_assert_uint_ge(*bytes, 16);
    memset(address, 0, *bytes);
    memcpy(address, &family, sizeof(family));
    memcpy((char *)address + 4, fields + 1, 8);
    *bytes = 16;
    return 0;
}

int getsockname(int fd, struct sockaddr *restrict address, socklen_t *restrict bytes)
{
    return family != 0 ? answer(address, bytes, 1)
                       : (int)syscall(SYS_getsockname, fd, address, bytes);
}

int getpeername(int fd, struct sockaddr *restrict address, socklen_t *restrict bytes)
{
    return family != 0 ? answer(address, bytes, 0)
                       : (int)syscall(SYS_getpeername, fd, address, bytes);
}

TEST_EACH(vsock, 2)
{
    struct peer peer;
    setenv("TCPREMOTEIP", "192.0.2.99", 1);
    family = AF_VSOCK;
    vsock_cid = _i == 0 ? 2 : UINT32_MAX - 1;
    vsock_port = _i == 0 ? 1023 : UINT32_MAX - 1;
    peer_learn(&peer, 0);
    family = 0;
    ck_assert_str_eq(peer.address, _i == 0 ? "vsock:2" : "vsock:4294967294");
    ck_assert_str_eq(peer.port, _i == 0 ? "1023" : "4294967294");
    ck_assert_str_eq(peer.local_address, _i == 0 ? "vsock:3" : "vsock:4294967295");
    ck_assert_str_eq(peer.local_port, _i == 0 ? "1024" : "4294967295");
    ck_assert(!peer.has_ip);
    ck_assert(!peer.tcp);
}

TEST(closed_descriptor_is_a_pipe)
{
    struct peer peer;
    clearenv();
    peer_learn(&peer, 1000);
    ck_assert_str_eq(peer.address, "pipe");
}

TEST(ucspi_comes_before_systemd)
{
    struct peer peer;
    for (int socket_given = 0; socket_given < 2; socket_given++) {
        clearenv();
        setenv("REMOTE_ADDR", "192.0.2.7", 1);
        setenv("REMOTE_PORT", "77", 1);
        learn_from(&peer, socket_given != 0);
        ck_assert_str_eq(peer.address, "192.0.2.7");
        ck_assert_str_eq(peer.port, "77");
        setenv("TCPREMOTEIP", "2001:db8::1", 1);
        setenv("TCPREMOTEPORT", "50000", 1);
        setenv("TCPLOCALIP", "::ffff:192.0.2.2", 1);
        setenv("TCPLOCALPORT", "22", 1);
        learn_from(&peer, socket_given != 0);
        ck_assert_str_eq(peer.address, "2001:db8::1");
        ck_assert_str_eq(peer.port, "50000");
        ck_assert_str_eq(peer.local_address, "192.0.2.2");
        ck_assert_str_eq(peer.local_port, "22");
        ck_assert(peer.has_ip);
    }
}

static const struct {
    const char *given;
    const char *address; /* NULL: refused */
} addresses[] = {
    {"192.0.2.1", "192.0.2.1"},
    {"::FFFF:192.0.2.1", "192.0.2.1"},
    {"2001:DB8:0::1", "2001:db8::1"},
    {"fe80::1%eth0", "fe80::1%eth0"},
    {"fe80::1%", NULL},
    {"fe80::1%e th0", NULL},
    {"fe80::1%0123456789abcdef", NULL},
    {"192.0.2.1%eth0", NULL},
    {"192.0.2", NULL},
    {"192.0.2.1\nevent=login", NULL},
    {"localhost", NULL},
    {"", NULL},
    {"/run/socket", NULL},
    {"11111111111111111111111111111111111111111111111111111111111111111111111111", NULL},
};

TEST_EACH(addresses_of_the_environment_are_checked, COUNT_OF(addresses))
{
    struct peer peer;
    clearenv();
    setenv("REMOTE_ADDR", addresses[_i].given, 1);
    learn_from(&peer, false);
    ck_assert_str_eq(peer.address, addresses[_i].address != NULL ? addresses[_i].address : "pipe");
}

static const struct {
    const char *given;
    const char *port;
} ports[] = {{"22", "22"}, {"65535", "65535"}, {"65536", "0"},  {"-1", "0"},    {"2 2", "0"},
             {"", "0"},    {"0", "0"},         {"000001", "1"}, {"0022", "22"}, {"22\n", "0"}};

TEST_EACH(ports_of_the_environment_are_checked, COUNT_OF(ports))
{
    struct peer peer;
    clearenv();
    setenv("REMOTE_ADDR", "192.0.2.1", 1);
    setenv("REMOTE_PORT", ports[_i].given, 1);
    learn_from(&peer, false);
    ck_assert_str_eq(peer.port, ports[_i].port);
}
