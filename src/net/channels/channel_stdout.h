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
struct pace;

/* The ends of the program's pipes that we read from; or a terminal's master, and -1. */
void channel_stdout_open(struct channel *channel, int child_stdout, int child_stderr);

/* The client's WINDOW_ADJUST. False if the window would exceed 2^32-1 bytes. */
bool channel_stdout_adjust(const struct connection *connection, struct channel *channel,
                           uint32_t more);

/* Sends `text` as if the program had written it, if all of it may leave now. */
void channel_stdout_tell(struct connection *connection, struct channel *channel, const char *text);

/* True if the program's output would only delay the other sessions: see below. */
bool channel_stdout_is_paced(const struct connection *connection, const struct channel *channel);

/* True if data may leave now: there is window and room in the output buffer, the output is not
 * paced, our key exchange is not under way, and the connection has not ended. */
bool channel_stdout_may_send(const struct connection *connection, const struct channel *channel);

/* Reads what poll() found, straight into packets in the output buffer, as far as
 * channel_stdout_may_send() allows and the other channels get their share. Sets the channel's flow.
 * Ends the pacing of a client that returns no window in time. */
void channel_stdout_read(struct connection *connection, struct channel *channel);

/* Closes what is open of the program's output. */
void channel_stdout_shut(struct channel *channel);

/*
 * The pace.
 *
 * How much output of one session may be in flight while several sessions share the connection. All
 * data goes through one TCP stream: what one session has sent ahead delays the others, even the
 * echo of a keystroke (head-of-line blocking).
 *
 * What waits in the client's kernel can't be seen from here, and a fast server fills all of it. But
 * clients return window for data that they have taken. How long that takes tells a near client from
 * a far one, and so how much must be in flight to keep the link busy.
 */

void pace_sent(struct pace *pace, uint32_t count, uint64_t now_ms);

/* The client's WINDOW_ADJUST. */
void pace_returned(struct pace *pace, uint32_t count, uint64_t now_ms);

/* True if so much is in flight that more would only wait in the client's kernel. */
bool pace_holds(const struct pace *pace);

/* When output goes on though the client has returned no window. */
uint64_t pace_deadline_ms(const struct pace *pace);

/* Forgets the client's delay: nothing is held until it has been measured again. */
void pace_forget_delay(struct pace *pace);

#endif
