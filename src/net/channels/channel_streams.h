/*
 * What goes through a channel, both ways, and the modes of its terminal.
 */
#ifndef WREN_CHANNEL_STREAMS_H
#define WREN_CHANNEL_STREAMS_H

#include <sys/uio.h>
#include <termios.h>

#include "wire.h"

/* ---- input of the program, channel_stdin.c --------------------------------------------------- */

/* The input half: the client's data to the program's stdin. Data is decrypted where it was read,
 * and goes from there into the program's stdin: that of several packets in one call of writev().
 * What the program does not take waits there until the input buffer is needed for more, and then in
 * the channel's queue. */

struct channel;
struct connection;

/* Enough for full packets of a whole input buffer, or for as many small ones. */
#define STDIN_BATCH_PARTS 16

/* Data for one program, to be written by the next call. */
struct stdin_batch {
    struct channel *channel; /* NULL for none */
    int count;
    size_t bytes;
    bool held; /* the program did not take all: the rest waits until poll() finds room */
    struct iovec parts[STDIN_BATCH_PARTS]; /* in the input buffer */
};

/* The program runs, and reads from the other end of `fd`: a pipe, or the terminal's master, which
 * channel_stdout.c closes. */
void channel_stdin_start(struct connection *connection, struct channel *channel, int fd);

/*
 * Data from the client, already taken off its window. The bytes must stay where they are until
 * channel_stdin_finish_batch(). Data that no program can take any more counts as consumed.
 */
void channel_stdin_add(struct connection *connection, struct channel *channel, const uint8_t *data,
                       size_t count);

/* Writes what channel_stdin_add() has collected: in each turn, and before CHANNEL_EOF or
 * CHANNEL_CLOSE is handled, which must not overtake it. What the program does not take stays in the
 * input buffer: a slow program costs neither a copy nor the memory for it. */
void channel_stdin_write_batch(struct connection *connection);

/* The same, and queues the rest: before CHANNEL_EXTENDED_DATA or CHANNEL_REQUEST is handled, and
 * before the input buffer is used again. Other messages of the same read are handled first, a key
 * exchange too. */
void channel_stdin_finish_batch(struct connection *connection);

/* Writes what is queued, if poll() found room for it. */
void channel_stdin_write_queue(struct connection *connection, struct channel *channel);

/* The client's EOF: the program's stdin is closed once nothing is queued. A terminal has no such
 * end of input: its programs read on until they exit. */
void channel_stdin_eof(struct connection *connection, struct channel *channel);

/* The program has closed its stdin. Its output goes on; what the client sends is discarded. */
void channel_stdin_break(struct connection *connection, struct channel *channel);

/* Closes the program's stdin, and drops what is queued. */
void channel_stdin_shut(struct connection *connection, struct channel *channel);

/* In state BROKEN: tells an OpenSSH client that it can stop sending (OpenSSH's PROTOCOL, section
 * 2.1). Other clients may answer a request that they do not know, though it wants no reply. */
void channel_stdin_send_eow(struct connection *connection, struct channel *channel);

/*
 * While the only program reads more slowly than its client sends, and LIMIT_PENDING_BYTES
 * wait for it, the socket is left unread, so that TCP slows the client down: until when, or 0 for
 * not at all. Never for long: the program may wait for a message that follows the data.
 */
uint64_t channel_stdin_pause_until_ms(const struct connection *connection);

/* ---- output of the program, channel_stdout.c ------------------------------------------------- */

/* A program's output to the client: stdout as CHANNEL_DATA, stderr as CHANNEL_EXTENDED_DATA, within
 * the client's window (RFC 4254 section 5.2). */

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

/* ---- modes of a terminal, tty_modes.c -------------------------------------------------------- */

/* Terminal modes on the wire (RFC 4254 section 8) to Linux's termios. */

/*
 * Starts from what Linux gives a new terminal and applies the encoded modes: opcodes 1 to 159 with
 * a uint32 each, ended by opcode 0, by one above 159 (undefined by the RFC: parsing stops), or by
 * the end of the string. Opcodes that Linux does not know are skipped. False if an argument is cut
 * off.
 */
bool tty_modes_read(struct reader *encoded, struct termios *modes);

#endif
