/*
 * The end of a script. Unless its configuration says otherwise, everything comes to rest: the
 * client reads all, finishes a key exchange that has begun, and closes its channels, and the
 * programs read all and exit. Then no channel, descriptor or chunk may be left.
 */
#include "world.h"

#include <errno.h>

enum { RESTORE, FINISH_EXCHANGE, EXIT, CLOSE, CHECK, LEAVE, WAIT, STAGES = WAIT + 8 };

/* A wait that ends by itself. */
#define SHORT_MS 1000

static bool drains(void)
{
    const struct connection *connection = world.connection;
    return (world.config[0] & 0x40) == 0 && world.logged_in &&
           connection->input_start == connection->input_end && !world.client.closed &&
           !world.ambiguous && world.write_error == 0;
}

static void restore(void)
{
    world.socket_room = world.chunk = UNLIMITED;
    for (int i = 0; i < world.program_count; i++) {
        world.programs[i].room = UNLIMITED;
    }
}

/* Says what the phase needs next. True if there was anything to say. */
static bool finish_exchange(void)
{
    const struct connection *connection = world.connection;
    switch (connection->phase) {
    case SSH_PHASE_OPEN:
        if (connection->kex.sent) {
            client_kexinit(world.options.no_sntrup ? 1 : 0, 0);
        }
        return connection->kex.sent;
    case SSH_PHASE_REKEY_GUESS: {
        const uint8_t guess[] = {SSH_MSG_KEX_ECDH_INIT, 0};
        client_say(guess, sizeof(guess));
        return true;
    }
    case SSH_PHASE_REKEY_ECDH:
        world.client.hybrid = connection->kex.hybrid;
        client_ecdh_init(0);
        return true;
    default:
        client_newkeys();
        return true;
    }
}

static void exit_programs(void)
{
    for (uint32_t slot = 0; slot < LIMIT_CHANNELS; slot++) {
        const struct peer_channel *channel = channel_by_slot(slot);
        if (channel != NULL) {
            uint64_t most = UINT32_MAX - channel->window;
            client_adjust(channel, (uint32_t)(most < 0x40000000 ? most : 0x40000000));
        }
    }
    for (int i = 0; i < world.program_count; i++) {
        struct program *program = &world.programs[i];
        program->input_closed = program->output_closed[0] = program->output_closed[1] = true;
        if (!program->exited) {
            program->exited = true;
            program->result_bytes = sizeof(program->result);
        }
    }
}

static void close_channels(void)
{
    for (uint32_t slot = 0; slot < LIMIT_CHANNELS; slot++) {
        const struct peer_channel *channel = channel_by_slot(slot);
        if (channel != NULL && !channel->said_close) {
            client_number(SSH_MSG_CHANNEL_CLOSE, channel);
        }
    }
}

/* A channel whose program ran has got all of its output before the client closed it. */
static void check_rest(void)
{
    const struct connection *connection = world.connection;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        FUZZ_CHECK(!channel_is_open(&connection->channels[i]));
        FUZZ_CHECK(world.slot_state[i] == 0);
    }
    for (int fd = FIRST_FD; fd < world.next_fd; fd++) {
        FUZZ_CHECK(!world.open_fds[fd]);
    }
    FUZZ_CHECK(connection->pool.in_use == 0 && connection->output_end == 0);
    FUZZ_CHECK(world.expected_first == world.expected_end);
    FUZZ_CHECK(world.sealed_first == world.sealed_end && world.wire_bytes == 0);
    goal_reached(GOAL_DRAINED);
}

/* Of each channel whose end has come by itself, all output has arrived. */
static void check_output(void)
{
    for (int i = 0; i < world.program_count; i++) {
        const struct program *program = &world.programs[i];
        const struct peer_channel *channel =
            program->channel >= 0 ? &world.channels[program->channel] : NULL;
        if (channel != NULL && channel->heard_eof && !channel->said_close && !program->pty) {
            FUZZ_CHECK(program->waiting[0] == 0 && program->waiting[1] == 0);
        }
        if (channel != NULL && channel->confirmed) {
            FUZZ_CHECK(channel->heard[0] <= program->sent[0]);
            FUZZ_CHECK(channel->heard[1] <= program->sent[1]);
        }
    }
}

static void next_stage(uint64_t timeout_ms)
{
    switch (world.ending) {
    case RESTORE:
        restore();
        break;
    case FINISH_EXCHANGE:
        if (!drains()) {
            world.ending = LEAVE - 1;
        } else if (finish_exchange()) {
            return;
        }
        break;
    case EXIT:
        exit_programs();
        break;
    case CLOSE:
        check_output();
        close_channels();
        break;
    case CHECK:
        check_rest();
        break;
    case LEAVE:
        if ((world.config[1] & 4U) != 0 && timeout_ms > 0) {
            world.now_ms += timeout_ms;
        } else {
            world.client.closed = true;
        }
        break;
    default:
        world.client.closed = true;
    }
    world.ending++;
}

void ending_turn(uint64_t timeout_ms)
{
    if (world.ending == RESTORE) {
        next_stage(timeout_ms);
        return;
    }
    if (timeout_ms <= SHORT_MS && timeout_ms > 0) {
        world.now_ms += timeout_ms;
        return;
    }
    FUZZ_CHECK(world.ending < STAGES);
    next_stage(timeout_ms);
}
