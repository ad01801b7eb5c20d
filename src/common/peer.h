/*
 * Who is at the other end of the connection, as text for the log and SSH_CONNECTION.
 */
#ifndef WREN_PEER_H
#define WREN_PEER_H

#include <stdbool.h>

/* An address with an IPv6 zone fits; "unix", "vsock", "tcp" or "pipe" where there is no
 * address. */
#define PEER_ADDRESS_BYTES 64
#define PEER_PORT_BYTES    8

struct peer {
    char address[PEER_ADDRESS_BYTES];
    char port[PEER_PORT_BYTES]; /* "0" where there is none */
    char local_address[PEER_ADDRESS_BYTES];
    char local_port[PEER_PORT_BYTES];
    bool tcp; /* the descriptor is a TCP socket: TCP_NODELAY and TCP_QUICKACK make sense */
};

/*
 * Fills in `peer` from descriptor `fd`: from getpeername if it is a socket with an address, else
 * from a launcher's TCPREMOTEIP, TCPREMOTEPORT, TCPLOCALIP, TCPLOCALPORT (UCSPI-TCP), else from
 * systemd's REMOTE_ADDR and REMOTE_PORT. Values from the environment are taken only if they are
 * IP addresses and port numbers. IPv4-mapped IPv6 addresses become IPv4.
 */
void peer_learn(struct peer *peer, int fd);

/* True if the peer has an IP address and not only the kind of its connection. */
bool peer_has_address(const struct peer *peer);

#endif
