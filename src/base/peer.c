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

static void put_text(char *out, size_t out_bytes, const char *text)
{
    snprintf(out, out_bytes, "%s", text);
}

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

/* Writes the socket address as text. Returns false if its family has none. */
static bool put_socket_address(char address[static PEER_ADDRESS_BYTES],
                               char port[static PEER_PORT_BYTES],
                               const struct sockaddr_storage *from)
{
    if (from->ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, from, sizeof(v4));
        inet_ntop(AF_INET, &v4.sin_addr, address, PEER_ADDRESS_BYTES);
        snprintf(port, PEER_PORT_BYTES, "%u", (unsigned)ntohs(v4.sin_port));
        return true;
    }
    if (from->ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        char zone[IF_NAMESIZE];
        memcpy(&v6, from, sizeof(v6));
        name_zone(zone, v6.sin6_scope_id);
        put_ipv6(address, &v6.sin6_addr, zone);
        snprintf(port, PEER_PORT_BYTES, "%u", (unsigned)ntohs(v6.sin6_port));
        return true;
    }
    if (from->ss_family == AF_VSOCK) {
        struct vsock_address vsock;
        memcpy(&vsock, from, sizeof(vsock));
        snprintf(address, PEER_ADDRESS_BYTES, "vsock:%u", (unsigned)vsock.cid);
        snprintf(port, PEER_PORT_BYTES, "%u", (unsigned)vsock.port);
        return true;
    }
    return false;
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

/* The kind of a connection without an address: the family of a socket, else "pipe". */
static const char *kind_of(sa_family_t family)
{
    switch (family) {
    case AF_UNIX:
        return "unix";
    case AF_VSOCK:
        return "vsock";
    case AF_INET:
    case AF_INET6:
        return "tcp";
    default:
        return "pipe";
    }
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

void peer_learn(struct peer *peer, int fd)
{
    struct sockaddr_storage remote = {.ss_family = AF_UNSPEC};
    struct sockaddr_storage local = {.ss_family = AF_UNSPEC};
    socklen_t remote_bytes = sizeof(remote);
    socklen_t local_bytes = sizeof(local);

    memset(peer, 0, sizeof(*peer));
    put_text(peer->port, sizeof(peer->port), "0");
    put_text(peer->local_port, sizeof(peer->local_port), "0");

    bool is_socket = getsockname(fd, (struct sockaddr *)&local, &local_bytes) == 0;
    const char *kind = kind_of(local.ss_family);
    peer->tcp = local.ss_family == AF_INET || local.ss_family == AF_INET6;
    if (!put_socket_address(peer->local_address, peer->local_port, &local)) {
        put_text(peer->local_address, sizeof(peer->local_address), kind);
    }
    if (is_socket && getpeername(fd, (struct sockaddr *)&remote, &remote_bytes) == 0 &&
        put_socket_address(peer->address, peer->port, &remote)) {
        peer->has_ip = peer->tcp;
        return;
    }
    peer->has_ip = learn_from_environment(peer);
    if (!peer->has_ip) {
        put_text(peer->address, sizeof(peer->address), kind);
        put_client_uid(peer, fd);
    }
}
