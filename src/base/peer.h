/*
 * IP addresses; and the client's address and port, and our own, as text for the log and
 * SSH_CONNECTION.
 */
#ifndef WREN_PEER_H
#define WREN_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- addresses ------------------------------------------------------------------------------- */

/* An IP address is one of IPv6. One of IPv4 is mapped, RFC 4291 section 2.5.5.2: its four bytes
 * begin at ADDRESS_IPV4_OFFSET. */
#define ADDRESS_IPV4_OFFSET 12

bool address_is_ipv4(const struct in6_addr *address);

/* Reads an address of `count` bytes, in either notation and without a zone. */
bool address_read(struct in6_addr *address, const char *text, size_t count);

/* Sets *address to that of a socket. False, with *address unchanged, for one without IP. */
bool address_of(struct in6_addr *address, const struct sockaddr_in6 *socket);

/* ---- the peer -------------------------------------------------------------------------------- */

/* Enough for an IPv6 address with a zone. Without an IP address the text is "vsock:CID",
 * "unix:UID" with the uid of the client, or the kind of connection: "unix", "vsock", "tcp" or
 * "pipe". */
#define PEER_ADDRESS_BYTES 64
#define PEER_PORT_BYTES    12 /* a port of vsock has 32 bits */

struct peer {
    char address[PEER_ADDRESS_BYTES];
    char port[PEER_PORT_BYTES]; /* "0" without an address */
    char local_address[PEER_ADDRESS_BYTES];
    char local_port[PEER_PORT_BYTES];
    bool tcp;    /* the descriptor is a TCP socket: TCP's options can be set */
    bool has_ip; /* `address` is an IP address */
};

/*
 * Fills in `peer` from descriptor `fd`. The first of these that has an address counts:
 *
 *     getpeername(2), if it is a socket
 *     TCPREMOTEIP, TCPREMOTEPORT, TCPLOCALIP, TCPLOCALPORT of an UCSPI-TCP launcher
 *     REMOTE_ADDR and REMOTE_PORT of systemd
 *
 * Values of variables must be IP addresses and port numbers. IPv4-mapped IPv6 addresses become
 * IPv4.
 */
void peer_learn(struct peer *peer, int fd);

/* Sets the client's address and port to those that accept(2) gave: the kernel forgets them when the
 * client resets the connection. Returns false, and changes nothing, without an IP address. */
bool peer_accepted(struct peer *peer, const struct sockaddr_in6 *client);

#endif
