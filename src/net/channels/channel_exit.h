/*
 * The end of a session: exit status or signal, EOF and CLOSE (RFC 4254 sections 5.3 and 6.10), in
 * the order of the output half's states in channel_state.h; and the RFC's names of signals.
 */
#ifndef WREN_CHANNEL_EXIT_H
#define WREN_CHANNEL_EXIT_H

#include <stdint.h>

#include "reader.h"

struct channel;
struct connection;

/* The program runs; a struct ipc_exit will come out of `fd` when it has exited. */
void channel_exit_start(struct channel *channel, int fd);

/* Sends what is due: the exit status that poll() found, EOF after the last output, CLOSE after
 * both. */
void channel_exit_send(struct connection *connection, struct channel *channel);

/* The client's CLOSE: ours leaves and the channel is FREE. After our EOF only the exit status is
 * due, and some clients send CLOSE without waiting for it: they get the status, and then CLOSE. */
void channel_exit_close(struct connection *connection, struct channel *channel);

/* When the session of a terminal ends whose program has exited while others keep it open; or
 * UINT64_MAX. */
uint64_t channel_exit_linger_ends_ms(const struct connection *connection,
                                     const struct channel *channel);

/* The number of the signal with this name, without "SIG"; 0 if the RFC does not name it. */
uint32_t channel_exit_signal_number(const struct reader *name);

/* The RFC's name of a signal, or NULL. */
const char *channel_exit_signal_name(uint32_t number);

#endif
