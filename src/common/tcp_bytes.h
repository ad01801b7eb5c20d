/*
 * How much went over a TCP connection, as the kernel counted it: nobody who only reads and writes
 * the connection can make it say otherwise.
 */
#ifndef WREN_TCP_BYTES_H
#define WREN_TCP_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes received, read or not, and bytes sent, without what was sent again; the end of either
 * direction may count as one. Returns false if `fd` is no TCP socket, or before Linux 4.1. */
bool tcp_bytes(uint64_t *received, uint64_t *sent, int fd);

#endif
