#include "peer.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "text.h"

static void put_ipv6(char out[static PEER_ADDRESS_BYTES], const struct in6_addr *address,
                     const char *zone)
{
    static const uint8_t v4_mapped[12] = {[10] = 0xff, [11] = 0xff}; /* RFC 4291 2.5.5.2 */
    if (memcmp(address->s6_addr, v4_mapped, sizeof(v4_mapped)) == 0) {
        inet_ntop(AF_INET, address->s6_addr + 12, out, PEER_ADDRESS_BYTES);
        return;
    }
    inet_ntop(AF_INET6, address, out, PEER_ADDRESS_BYTES);
    if (zone[0] != '\0') {
        size_t used = strlen(out);
        snprintf(out + used, PEER_ADDRESS_BYTES - used, "%%%s", zone);
    }
}

/* A link-local address is of use only together with its interface. */
static void name_zone(char zone[static IF_NAMESIZE], uint32_t index)
{
    zone[0] = '\0';
    if (index != 0 && if_indextoname(index, zone) == NULL) {
        snprintf(zone, IF_NAMESIZE, "%u", (unsigned)index);
    }
}

/* As struct sockaddr_vm of linux/vm_sockets.h, which a musl toolchain may lack. */
struct vsock_address {
    sa_family_t family;
    uint16_t reserved;
    uint32_t port;
    uint32_t cid;
};

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct vsock_address vsock;
    struct sockaddr_storage room; /* for any family */
};

/* Writes the socket address as text. Returns false if its family has none. */
static bool put_socket_address(char address[static PEER_ADDRESS_BYTES],
                               char port[static PEER_PORT_BYTES], const union socket_address *from)
{
    char zone[IF_NAMESIZE];
    unsigned number;
    switch (from->any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &from->v4.sin_addr, address, PEER_ADDRESS_BYTES);
        number = ntohs(from->v4.sin_port);
        break;
    case AF_INET6:
        name_zone(zone, from->v6.sin6_scope_id);
        put_ipv6(address, &from->v6.sin6_addr, zone);
        number = ntohs(from->v6.sin6_port);
        break;
    case AF_VSOCK:
        snprintf(address, PEER_ADDRESS_BYTES, "vsock:%u", (unsigned)from->vsock.cid);
        number = from->vsock.port;
        break;
    default:
        return false;
    }
    snprintf(port, PEER_PORT_BYTES, "%u", number);
    return true;
}

static bool is_zone(const char *text)
{
    size_t bytes = strlen(text);
    return bytes > 0 && bytes < IF_NAMESIZE &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
               bytes;
}

static bool put_named_address(char out[static PEER_ADDRESS_BYTES], const char *variable)
{
    const char *value = getenv(variable);
    char text[INET6_ADDRSTRLEN + 1];
    struct in_addr v4;
    struct in6_addr v6;
    if (value == NULL) {
        return false;
    }
    const char *zone = strchr(value, '%');
    size_t address_bytes = zone != NULL ? (size_t)(zone - value) : strlen(value);
    if (address_bytes >= sizeof(text) || (zone != NULL && !is_zone(zone + 1))) {
        return false;
    }
    memcpy(text, value, address_bytes);
    text[address_bytes] = '\0';
    if (zone == NULL && inet_pton(AF_INET, text, &v4) == 1) {
        return inet_ntop(AF_INET, &v4, out, PEER_ADDRESS_BYTES) != NULL;
    }
    if (inet_pton(AF_INET6, text, &v6) == 1) {
        put_ipv6(out, &v6, zone != NULL ? zone + 1 : "");
        return true;
    }
    return false;
}

static void put_named_port(char out[static PEER_PORT_BYTES], const char *variable)
{
    const char *value = getenv(variable);
    unsigned port;
    if (value != NULL && number_read(&port, value) && port <= 65535) {
        snprintf(out, PEER_PORT_BYTES, "%u", port);
    }
}

static bool learn_from_environment(struct peer *peer)
{
    if (put_named_address(peer->address, "TCPREMOTEIP")) {
        put_named_port(peer->port, "TCPREMOTEPORT");
        if (put_named_address(peer->local_address, "TCPLOCALIP")) {
            put_named_port(peer->local_port, "TCPLOCALPORT");
        }
        return true;
    }
    if (put_named_address(peer->address, "REMOTE_ADDR")) {
        put_named_port(peer->port, "REMOTE_PORT");
        return true;
    }
    return false;
}

/* The user at the other end of a Unix socket. Other sockets have none: the kernel says -1. */
static void put_client_uid(struct peer *peer, int fd)
{
    struct ucred client;
    socklen_t bytes = sizeof(client);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client, &bytes) == 0 && client.uid != (uid_t)-1) {
        snprintf(peer->address, sizeof(peer->address), "unix:%u", (unsigned)client.uid);
    }
}

bool peer_accepted(struct peer *peer, const struct sockaddr_in6 *client)
{
    const union socket_address remote = {.v6 = *client};
    sa_family_t family = remote.any.sa_family;
    return (family == AF_INET || family == AF_INET6) &&
           put_socket_address(peer->address, peer->port, &remote);
}

void peer_learn(struct peer *peer, int fd)
{
    union socket_address remote = {.room = {.ss_family = AF_UNSPEC}};
    union socket_address local = {.room = {.ss_family = AF_UNSPEC}};
    socklen_t remote_bytes = sizeof(remote);
    socklen_t local_bytes = sizeof(local);

    *peer = (struct peer){.port = "0", .local_port = "0"};
    bool is_socket = getsockname(fd, &local.any, &local_bytes) == 0;
    sa_family_t family = local.any.sa_family;
    peer->tcp = family == AF_INET || family == AF_INET6;
    const char *kind = peer->tcp            ? "tcp"
                       : family == AF_UNIX  ? "unix"
                       : family == AF_VSOCK ? "vsock"
                                            : "pipe";
    if (!put_socket_address(peer->local_address, peer->local_port, &local)) {
        snprintf(peer->local_address, sizeof(peer->local_address), "%s", kind);
    }
    if (is_socket && getpeername(fd, &remote.any, &remote_bytes) == 0 &&
        put_socket_address(peer->address, peer->port, &remote)) {
        peer->has_ip = peer->tcp;
        return;
    }
    peer->has_ip = learn_from_environment(peer);
    if (!peer->has_ip) {
        snprintf(peer->address, sizeof(peer->address), "%s", kind);
        put_client_uid(peer, fd);
    }
}
