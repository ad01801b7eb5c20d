/*
 * KEXINIT: what we offer, and the choice between both offers (RFC 4253 section 7.1).
 */
#ifndef WREN_KEXINIT_H
#define WREN_KEXINIT_H

#include "connection.h"
#include "reader.h"

/* Sends our KEXINIT and keeps it as I_S. From now on until our NEWKEYS, message_send() holds other
 * messages back. */
void kexinit_send(struct connection *connection);

/* Handler: keeps I_C, sends our KEXINIT if we have not yet, and chooses the method. */
enum ssh_phase kexinit_on_kexinit(struct connection *connection, struct reader *message);

#endif
