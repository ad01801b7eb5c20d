/*
 * The bytes of a TCP connection as the kernel counts them: a process that only reads and writes the
 * connection cannot falsify the count.
 */
#ifndef WREN_TCP_BYTES_H
#define WREN_TCP_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* Sets *received to the bytes that have arrived, read or not, and *sent to those sent, without
 * retransmissions. The end of a direction may count as one byte. Returns false if `fd` is not a TCP
 * socket, and on kernels before Linux 4.1. */
bool tcp_bytes(uint64_t *received, uint64_t *sent, int fd);

#endif
