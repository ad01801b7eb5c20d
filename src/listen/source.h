/*
 * What wrensshd-listen counts as one address: an IPv4 address, or a /64 network of IPv6, because a
 * subscriber has at least a whole /64.
 */
#ifndef WREN_SOURCE_H
#define WREN_SOURCE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* The prefix of an IPv4-mapped IPv6 address, RFC 4291 section 2.5.5.2. */
#define SOURCE_MAPPED_BYTES 12
extern const uint8_t source_mapped[SOURCE_MAPPED_BYTES];

bool source_is_mapped(const struct in6_addr *address);

/* Sets *source to an IPv4 client's address, mapped or not, or to an IPv6 client's network. Only the
 * functions below can compare and write it. */
void source_read(struct in6_addr *source, const struct sockaddr_in6 *client);

/* Returns true if both are the same address or network. */
bool source_is(const struct in6_addr *source, const struct in6_addr *other);

/* Writes "192.0.2.1" or "2001:db8:0:1::/64", with a NUL. */
#define SOURCE_TEXT_BYTES (INET6_ADDRSTRLEN + 3)
void source_write(char out[static SOURCE_TEXT_BYTES], const struct in6_addr *source);

#endif
