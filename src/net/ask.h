/*
 * The network process's side of common/ipc.h: one function for each request, to the monitor or to
 * the session process. Each blocks until the answer is there. If the process that was asked is gone
 * or answers wrongly, or the client goes while we wait, the connection is ended and they return
 * false.
 */
#ifndef WREN_ASK_H
#define WREN_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "connection.h"
#include "ipc.h"

/* The sandbox is up. Sets host_public_key and host_keys. Fails silently: the monitor has logged why
 * it left. */
bool ask_start(struct connection *connection, uint32_t layers);

/* Has H made and signed. K is in `secret` (64 bytes, or 32 and zeros); V_C, I_C, I_S and the method
 * are the connection's. */
bool ask_sign(struct connection *connection, const uint8_t secret[static 64], const uint8_t *q_c,
              size_t q_c_bytes, const uint8_t *q_s, size_t q_s_bytes, struct ipc_sign_reply *reply);

/* Has a host key proved, `key` as in struct ipc_prove; for hostkeys.c, which keeps count. */
bool ask_prove(struct connection *connection, uint32_t key, uint8_t signature[static 64]);

/* `request` is filled in but for its type; `blob` has its blob_bytes. Sets `forced` if the monitor
 * says so. */
bool ask_auth(struct connection *connection, struct ipc_auth *request, const void *blob,
              enum ipc_verdict *verdict);

/* Of the session process. These return whether it was done; `connection->ended` tells whether the
 * connection goes on. */

/* On success *master is the terminal's master. */
bool ask_pty(struct connection *connection, uint32_t slot, const struct winsize *size,
             const struct termios *modes, int *master);

/* The channel's environment and TERM, the command as it came. On success the channel's descriptors
 * are set. */
bool ask_spawn(struct connection *connection, struct channel *channel, uint32_t slot,
               enum ipc_session_kind kind, const void *command, size_t command_bytes);

bool ask_signal(struct connection *connection, uint32_t slot, uint32_t number);
bool ask_release(struct connection *connection, uint32_t slot);

/* Has the monitor log a text; `level` is an enum log_level. */
bool ask_note(struct connection *connection, uint32_t level, const char *text);

/* Tells why the connection ends and how much went over the wire. The last request; no answer. */
void ask_end(struct connection *connection);

#endif
