/*
 * What wrensshd-listen counts as one address: of IPv6 a network of 64 bits, which is what one
 * subscriber has at the least.
 */
#ifndef WREN_LISTEN_SOURCE_H
#define WREN_LISTEN_SOURCE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* What an IPv4 address has in front where it stands as one of IPv6: RFC 4291 section 2.5.5.2. */
#define SOURCE_MAPPED_BYTES 12
extern const uint8_t source_mapped[SOURCE_MAPPED_BYTES];

bool source_is_mapped(const struct in6_addr *address);

/* An IPv4 client's address, also if it comes by a socket for both families, or an IPv6 client's
 * network. To be compared and written by the functions below only. */
void source_read(struct in6_addr *source, const struct sockaddr_in6 *client);

bool source_is(const struct in6_addr *source, const struct in6_addr *other);

/* "192.0.2.1" or "2001:db8:0:1::/64", with a NUL. */
#define SOURCE_TEXT_BYTES (INET6_ADDRSTRLEN + 3)
void source_write(char out[static SOURCE_TEXT_BYTES], const struct in6_addr *source);

#endif
