/*
 * KEXINIT: what we offer, and what comes of the two offers (RFC 4253 section 7.1).
 *
 *     byte[16] cookie | name-list × 10 | boolean first_kex_packet_follows | uint32 0
 */
#ifndef WREN_KEXINIT_H
#define WREN_KEXINIT_H

#include "connection.h"
#include "reader.h"

/* Sends our KEXINIT and keeps it as I_S. Nothing but key exchange messages leaves from now on until
 * our NEWKEYS. */
void kexinit_send(struct connection *connection);

/* Handler: settles the method, answers with our KEXINIT if it is not out yet. */
enum phase kexinit_on_kexinit(struct connection *connection, struct reader *message);

#endif
