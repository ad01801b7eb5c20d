/*
 * src/net/channels/channel_window.c: the invariant "the windows hold". For each open channel
 *
 *     window + pending.bytes + in_hand + consumed == limit
 *     LIMIT_WINDOW_BYTES <= limit <= LIMIT_LARGEST_WINDOW_BYTES
 *     unmeasured <= measured <= LIMIT_LARGEST_WINDOW_BYTES, unmeasured <= window
 *     bytes_a_ms <= LIMIT_LARGEST_WINDOW_BYTES
 *     measured_ms and the delay of the link <= the time
 *
 * where in_hand is what was taken off the window and is neither queued nor consumed yet. The limits
 * of all 16 channels together, with LIMIT_WINDOW_BYTES kept for each that is FREE, are
 * LIMIT_WINDOWS_BYTES at most. So no window exceeds its limit, and the pool has room for all that
 * clients may send.
 *
 * One step from any valid state suffices. A connection begins with all channels FREE, so that the
 * invariant holds. Only the functions below write limit, window and consumed (channels.h). What is
 * in hand is queued or consumed by channel_stdin.c, which leaves the sum as it is (stdin.c). A
 * channel that becomes FREE leaves the rest of its limit to the others.
 *
 * Step 0 proves spare_window() with 16 channels: its answer depends on the sum of their limits
 * alone. So steps 1 to 4 need only one other channel, whose limit stands for those of all others.
 * They prove channel_window_return(), channel_window_take(), channel_window_consume() and
 * channel_open().
 */
#include "small.h"

#include "proofs.h"

enum { THE_STEP = STEP };
#undef STEP

/* spare_window() is proved by induction. Its loop reads channels_used before each round: there
 * `spare` is proved to be what the channels before have left, and the round begins with that value.
 * Without these cuts CBMC would look for one proof of a sum of 16 numbers. */
static bool cut(uint32_t *spare, size_t round);
/* clang-format off */
#define channels_used channels_used && cut(&spare, i)
/* clang-format on */
#include "channel_window.c"
#undef channels_used

#include "channel.c"
#include "channel_state.c"

#define GROWTH_BYTES (LIMIT_LARGEST_WINDOW_BYTES - LIMIT_WINDOW_BYTES)

/* After 34 years the clock would be too large for the product in largest_window(). */
#define CLOCK_END_MS ((uint64_t)1 << 40)

static struct connection connection;
static uint32_t in_hand;                  /* of the channel that makes the step */
static uint32_t left[LIMIT_CHANNELS + 1]; /* what the channels before each number leave */
static unsigned messages, fields;
static uint32_t adjust[2]; /* the fields of the message */
static bool refused;

static bool cut(uint32_t *spare, size_t round)
{
    if (THE_STEP == 0) {
        PROVE(*spare == left[round], "what the channels before have left");
        *spare = left[round];
    }
    return true;
}

/* ---- what channel_window.c calls ------------------------------------------------------------- */

struct writer message_begin(struct connection *to, enum ssh_message number)
{
    PROVE(to == &connection && number == SSH_MSG_CHANNEL_WINDOW_ADJUST, "only WINDOW_ADJUST");
    messages++;
    return (struct writer){0};
}

void writer_u32(struct writer *writer, uint32_t value)
{
    (void)writer;
    PROVE(fields < 2, "a message has two fields");
    adjust[fields++] = value;
}

void message_send(struct connection *to, struct writer *message)
{
    (void)to;
    (void)message;
    PROVE(fields == 2, "a message has two fields");
}

enum ssh_phase connection_refuse(struct connection *from, enum ssh_disconnect code,
                                 const char *reason, ...)
{
    (void)from;
    (void)code;
    PROVE(reason != NULL, "a refusal has a reason");
    refused = true;
    return SSH_PHASE_ENDED;
}

/* ---- the invariant --------------------------------------------------------------------------- */

static bool limit_holds(const struct channel *channel)
{
    return channel->limit >= LIMIT_WINDOW_BYTES && channel->limit <= LIMIT_LARGEST_WINDOW_BYTES;
}

/* No term is above the limit, so their sum can't wrap. */
static bool window_holds(const struct channel *channel, uint32_t taken)
{
    uint32_t limit = channel->limit;
    return limit_holds(channel) && channel->window <= limit && channel->pending.bytes <= limit &&
           taken <= limit && channel->consumed <= limit &&
           channel->unmeasured <= channel->measured && channel->unmeasured <= channel->window &&
           channel->measured_ms <= connection.now_ms &&
           channel->measured <= LIMIT_LARGEST_WINDOW_BYTES &&
           channel->bytes_a_ms <= LIMIT_LARGEST_WINDOW_BYTES &&
           channel->window + channel->pending.bytes + taken + channel->consumed == limit;
}

static uint32_t growth(const struct channel *channel)
{
    return channel_is_open(channel) ? channel->limit - LIMIT_WINDOW_BYTES : 0;
}

static bool windows_hold(const struct channel *channel, const struct channel *others)
{
    return connection.link.delay_ms <= connection.now_ms &&
           (!channel_is_open(channel) || window_holds(channel, in_hand)) &&
           (!channel_is_open(others) || limit_holds(others)) &&
           growth(channel) + growth(others) <= GROWTH_BYTES;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void begin(struct channel *channel)
{
    channel->limit = nondet_u32();
    channel->window = nondet_u32();
    channel->consumed = nondet_u32();
    channel->pending.bytes = nondet_size();
    channel->remote = nondet_u32();
    channel->stdin_bytes = nondet_size();
    channel->measured = nondet_u32();
    channel->unmeasured = nondet_u32();
    channel->bytes_a_ms = nondet_u32();
    channel->measured_ms = nondet_size();
    channel->input = (enum channel_input)nondet_unsigned();
    channel->output = (enum channel_output)nondet_unsigned();
    ASSUME(channel->input < INPUT_STATES && channel->output < OUTPUT_STATES);
}

static void prove_spare(void)
{
    left[0] = GROWTH_BYTES;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        struct channel *channel = &connection.channels[i];
        begin(channel);
        ASSUME(!channel_is_open(channel) || (i < connection.channels_used && limit_holds(channel)));
        ASSUME(growth(channel) <= left[i]);
        left[i + 1] = left[i] - growth(channel);
    }
    PROVE(spare_window(&connection) == left[LIMIT_CHANNELS], "the rest of all windows is spare");
}

static void prove_return(struct channel *channel)
{
    uint32_t window = channel->window;
    uint32_t held = (uint32_t)channel->pending.bytes + in_hand;
    channel_window_return(&connection, channel);
    PROVE(messages <= 1 && (messages == 1 || channel->window == window),
          "a window grows by a message alone");
    PROVE(messages == 0 || (adjust[0] == channel->remote && adjust[1] > 0 &&
                            channel->window == window + adjust[1]),
          "the client gets what is counted");
    PROVE(messages == 0 || channel->window + held == channel->limit,
          "all that was consumed is returned");
    PROVE(messages == 0 || (channel->output != OUTPUT_CLOSED && !connection.kex.sent),
          "no message leaves while none may");
}

static void prove_take(struct channel *channel)
{
    size_t count = nondet_size();
    bool fits = !channel_input_has_eof(channel->input) && count <= LIMIT_CHANNEL_PACKET_BYTES &&
                count <= channel->window;
    bool taken = channel_window_take(&connection, channel, count);
    PROVE(taken == fits && refused == !fits, "what does not fit is refused");
    in_hand += taken ? (uint32_t)count : 0;
}

/* By what was in hand, or by what was queued. */
static void prove_consume(struct channel *channel)
{
    size_t count = nondet_size();
    if (nondet_bool()) {
        ASSUME(count <= in_hand);
        in_hand -= (uint32_t)count;
    } else {
        ASSUME(count <= channel->pending.bytes);
        channel->pending.bytes -= count;
    }
    channel_window_consume(channel, count);
}

static void step(struct channel *channel)
{
    switch (THE_STEP) {
    case 1:
        prove_return(channel);
        break;
    case 2:
        prove_take(channel);
        break;
    case 3:
        prove_consume(channel);
        break;
    default:
        in_hand = 0;
        channel_open(&connection, channel, nondet_u32(), nondet_u32(), nondet_u32());
        PROVE(channel_is_open(channel) && channel->consumed == 0 && channel->pending.bytes == 0,
              "a new channel has nothing in it");
        break;
    }
}

int main(void)
{
    struct channel *channel = &connection.channels[0];
    struct channel *others = &connection.channels[1];
    connection.now_ms = nondet_size();
    connection.socket.input_empty = nondet_bool();
    connection.kex.sent = nondet_bool();
    connection.channels_used = nondet_size();
    ASSUME(connection.now_ms < CLOCK_END_MS && connection.channels_used <= LIMIT_CHANNELS);
    if (THE_STEP == 0) {
        prove_spare();
        return 0;
    }
    connection.channels_used = 2;
    connection.link.delay_ms = nondet_size();
    connection.link.old_ms = nondet_size();
    in_hand = nondet_u32();
    begin(channel);
    begin(others);
    ASSUME(windows_hold(channel, others));
    ASSUME(channel_is_open(channel) == (THE_STEP < 4));
    step(channel);
    PROVE(windows_hold(channel, others), "the windows hold");
    return 0;
}
