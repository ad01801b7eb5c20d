#include "base.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* ---- addresses ------------------------------------------------------------------------------- */

static const struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

bool address_is_ipv4(const struct in6_addr *address)
{
    return memcmp(address, &mapped, ADDRESS_IPV4_OFFSET) == 0;
}

static void map_ipv4(struct in6_addr *address, const struct in_addr *v4)
{
    *address = mapped;
    memcpy(&address->s6_addr[ADDRESS_IPV4_OFFSET], v4, sizeof(*v4));
}

bool address_read(struct in6_addr *address, const char *text, size_t count)
{
    char plain[INET6_ADDRSTRLEN + 1] = "";
    struct in_addr v4;
    if (count >= sizeof(plain)) {
        return false;
    }
    memcpy(plain, text, count);
    if (inet_pton(AF_INET, plain, &v4) != 1) {
        return inet_pton(AF_INET6, plain, address) == 1;
    }
    map_ipv4(address, &v4);
    return true;
}

bool address_of(struct in6_addr *address, const struct sockaddr_in6 *socket)
{
    if (socket->sin6_family == AF_INET) {
        map_ipv4(address, &((const struct sockaddr_in *)(const void *)socket)->sin_addr);
    } else if (socket->sin6_family == AF_INET6) {
        *address = socket->sin6_addr;
    }
    return socket->sin6_family == AF_INET || socket->sin6_family == AF_INET6;
}

static void put_address(char out[static PEER_ADDRESS_BYTES], const struct in6_addr *address,
                        const char *zone)
{
    if (address_is_ipv4(address)) {
        inet_ntop(AF_INET, &address->s6_addr[ADDRESS_IPV4_OFFSET], out, PEER_ADDRESS_BYTES);
        return;
    }
    inet_ntop(AF_INET6, address, out, PEER_ADDRESS_BYTES);
    if (zone[0] != '\0') {
        size_t used = strlen(out);
        snprintf(out + used, PEER_ADDRESS_BYTES - used, "%%%s", zone);
    }
}

/* ---- the peer -------------------------------------------------------------------------------- */

/* As struct sockaddr_vm of linux/vm_sockets.h, which a musl toolchain may lack. */
struct vsock_address {
    sa_family_t family;
    uint16_t reserved;
    uint32_t port;
    uint32_t cid;
};

union socket_address {
    struct sockaddr any;
    struct sockaddr_in6 ip; /* the port of IPv4 has the same offset */
    struct vsock_address vsock;
    struct sockaddr_storage room; /* for any family */
};

/* Writes the socket address as text. Returns false if its family has none. A link-local address is
 * of use only together with its interface. */
static bool put_socket_address(char address[static PEER_ADDRESS_BYTES],
                               char port[static PEER_PORT_BYTES], const union socket_address *from)
{
    char zone[IF_NAMESIZE] = "";
    struct in6_addr ip;
    unsigned number = ntohs(from->ip.sin6_port);
    if (address_of(&ip, &from->ip)) {
        uint32_t index = from->any.sa_family == AF_INET6 ? from->ip.sin6_scope_id : 0;
        if (index != 0 && if_indextoname(index, zone) == NULL) {
            snprintf(zone, IF_NAMESIZE, "%u", (unsigned)index);
        }
        put_address(address, &ip, zone);
    } else if (from->any.sa_family == AF_VSOCK) {
        snprintf(address, PEER_ADDRESS_BYTES, "vsock:%u", (unsigned)from->vsock.cid);
        number = from->vsock.port;
    } else {
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

static void put_named_port(char out[static PEER_PORT_BYTES], const char *variable)
{
    const char *value = getenv(variable);
    unsigned port;
    if (value != NULL && number_read(&port, value) && port <= 65535) {
        snprintf(out, PEER_PORT_BYTES, "%u", port);
    }
}

/* Changes nothing unless `ip_name` is a variable with an address. */
static bool put_named(char out[static PEER_ADDRESS_BYTES], char port[static PEER_PORT_BYTES],
                      const char *ip_name, const char *port_name)
{
    const char *value = getenv(ip_name);
    struct in6_addr address;
    if (value == NULL) {
        return false;
    }
    size_t bytes = strcspn(value, "%");
    const char *zone = value[bytes] == '%' ? value + bytes + 1 : NULL;
    if ((zone != NULL && (!is_zone(zone) || memchr(value, ':', bytes) == NULL)) ||
        !address_read(&address, value, bytes)) {
        return false;
    }
    put_address(out, &address, zone != NULL ? zone : "");
    put_named_port(port, port_name);
    return true;
}

static bool learn_from_environment(struct peer *peer)
{
    if (put_named(peer->address, peer->port, "TCPREMOTEIP", "TCPREMOTEPORT")) {
        put_named(peer->local_address, peer->local_port, "TCPLOCALIP", "TCPLOCALPORT");
        return true;
    }
    return put_named(peer->address, peer->port, "REMOTE_ADDR", "REMOTE_PORT");
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
    const union socket_address remote = {.ip = *client};
    struct in6_addr ignored;
    return address_of(&ignored, client) && put_socket_address(peer->address, peer->port, &remote);
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
