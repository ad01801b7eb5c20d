/*
 * A program's output to the client: stdout as CHANNEL_DATA, stderr as CHANNEL_EXTENDED_DATA, within
 * the client's window (RFC 4254 section 5.2).
 */
#ifndef WREN_CHANNEL_STDOUT_H
#define WREN_CHANNEL_STDOUT_H

#include <stdbool.h>
#include <stdint.h>

struct channel;
struct connection;

/* The ends of the program's pipes that we read from; or a terminal's master, and -1. */
void channel_stdout_open(struct channel *channel, int child_stdout, int child_stderr);

/* The client's WINDOW_ADJUST. False if the window would exceed 2^32-1 bytes. */
bool channel_stdout_adjust(const struct connection *connection, struct channel *channel,
                           uint32_t more);

/* Sends `text` as if the program had written it, if all of it may leave now. */
void channel_stdout_tell(struct connection *connection, struct channel *channel, const char *text);

/* True if the program's output would only delay the other sessions: see pace.h. */
bool channel_stdout_is_paced(const struct connection *connection, const struct channel *channel);

/* True if data may leave now: there is window and room in the output buffer, the output is not
 * paced, our key exchange is not under way, and the connection has not ended. */
bool channel_stdout_may_send(const struct connection *connection, const struct channel *channel);

/* Reads what poll() found, straight into packets in the output buffer, as far as
 * channel_stdout_may_send() allows and the other channels get their share. Sets the channel's flow.
 * Ends the pacing of a client that returns no window in time. */
void channel_stdout_read(struct connection *connection, struct channel *channel);

/* True if all output has been read: the program has closed it, or we have. */
bool channel_stdout_has_ended(const struct channel *channel);

/* Closes what is open of the program's output. */
void channel_stdout_shut(struct channel *channel);

#endif
