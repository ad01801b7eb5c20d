/*
 * The requests of ipc/ipc.h that the network process sends to the monitor or to the session
 * process: one function each. Each waits for the reply. If the other process has ended or its reply
 * is wrong, or if the client leaves during the wait, the function ends the connection and returns
 * false.
 */
#ifndef WREN_ASK_H
#define WREN_ASK_H

#include "net.h"

/* The first request: the sandbox has `layers`. Sets host_keys. If it fails, the monitor has logged
 * why. Trick: own frame; a certificate's room would lie above the stack of the loop. */
__attribute__((noinline)) bool ask_start(struct connection *connection, uint32_t layers);

/* Has the monitor make and sign H. K is in `secret`: 64 bytes, or 32 and then zeros. V_C, I_C, I_S
 * and the method are those of the connection. */
bool ask_sign(struct connection *connection, const uint8_t secret[static 64], const uint8_t *q_c,
              size_t q_c_bytes, const uint8_t *q_s, size_t q_s_bytes, struct ipc_sign_reply *reply);

/* Has the monitor prove that we have a host key; `key` is as in struct ipc_prove. For hostkeys.c,
 * which counts the proofs. */
bool ask_prove(struct connection *connection, uint32_t key, uint8_t signature[static 64]);

/* Has the monitor decide about a login. All of `request` but its type is filled in; `blob` has its
 * blob_bytes. Also sets connection->client.forced. */
bool ask_auth(struct connection *connection, struct ipc_auth *request, const void *blob,
              enum ipc_verdict *verdict);

/* To the session process. These return true if it has done what was asked. If not,
 * `connection->end.reached` says whether the connection can continue. If we lack descriptors for a
 * reply, its session is closed, with its terminal; the client may ask again. */

/* Opens a terminal. On success *master is its master. */
bool ask_pty(struct connection *connection, struct channel *channel, const struct winsize *size,
             const struct termios *modes, int *master);

/* Starts a program with the channel's environment and TERM. `command` is as the client sent it. On
 * success `fds` has the program's descriptors: stdin, stdout, stderr and exit; for a program on a
 * terminal the last one alone. */
bool ask_spawn(struct connection *connection, struct channel *channel, enum ipc_session_kind kind,
               const void *command, size_t command_bytes, int fds[static IPC_REPLY_DESCRIPTORS]);

bool ask_signal(struct connection *connection, const struct channel *channel, uint32_t signal);
bool ask_release(struct connection *connection, const struct channel *channel);

/* To the monitor again. Has it log a text; `level` is an enum log_level. */
bool ask_note(struct connection *connection, uint32_t level, const char *text);

/* The last request, without a reply: why the connection ends, and how many bytes it has moved. */
void ask_end(struct connection *connection);

#endif
