/*
 * The operations that an input is made of: a byte with the operation's number, then its arguments.
 * With the highest bit set the next operation follows before the product gets its turn.
 */
#include "world.h"

#include <errno.h>
#include <string.h>

/* ---- whom an operation means ----------------------------------------------------------------- */

/* The channel of this number; one that does not exist if there is none. */
static struct peer_channel *pick_channel(uint8_t number)
{
    static struct peer_channel nobody;
    struct peer_channel *channel = channel_by_slot(number & 15);
    if (channel != NULL && number < 0xf0) {
        return channel;
    }
    nobody = (struct peer_channel){.slot = number < 0xf0 ? number & 15 : number};
    nobody.credit = LIMIT_WINDOW_BYTES;
    return &nobody;
}

/* The program of the channel with this number, or the last that was started, or NULL. */
static struct program *pick_program(uint8_t number)
{
    int index = world.slot_program[number & 15];
    if (index < 0) {
        index = world.program_count - 1;
    }
    return index >= 0 ? &world.programs[index] : NULL;
}

static uint32_t take_u16(void)
{
    uint32_t high = input_u8(&world.script);
    return high << 8 | input_u8(&world.script);
}

/* ---- the client ------------------------------------------------------------------------------ */

static void op_open(void)
{
    uint8_t window = input_u8(&world.script);
    uint8_t packet = input_u8(&world.script);
    if (world.client.next_number < 1000 + PEER_CHANNELS - 2) {
        client_open(window, packet);
    }
}

static void op_request(void)
{
    uint8_t number = input_u8(&world.script);
    uint8_t kind = input_u8(&world.script);
    client_request(pick_channel(number), kind, (number & 0x10) == 0);
}

/* Up to 16 packets; more than the window only if the operation says so. */
static void op_data(void)
{
    uint8_t number = input_u8(&world.script);
    struct peer_channel *channel = pick_channel(number);
    size_t count = take_u16();
    size_t credit = channel->credit > channel->in_flight ? channel->credit - channel->in_flight : 0;
    for (int i = 0; i < 1 << 2 * (number >> 4 & 3); i++) {
        size_t part = count;
        if ((number & 0x40) == 0) {
            part = part < credit ? part : credit;
            part = part < LIMIT_CHANNEL_PACKET_BYTES ? part : LIMIT_CHANNEL_PACKET_BYTES;
        }
        client_data(channel, part, (number & 0x80) != 0);
        credit -= part < credit ? part : credit;
    }
}

static void op_adjust(void)
{
    static const uint32_t sizes[] = {0, 1, 50, 32768, 65536, 2097152, 0x7fffffff, 0xffffffff};
    const struct peer_channel *channel = pick_channel(input_u8(&world.script));
    client_adjust(channel, sizes[input_u8(&world.script) & 7]);
}

static void op_channel_number(uint8_t number)
{
    client_number(number, pick_channel(input_u8(&world.script)));
}

/* Any message. A CHANNEL_OPEN gets a number of its own: else two channels could not be told apart.
 */
static void op_message(void)
{
    uint8_t payload[256];
    struct input fields = input_take(&world.script, input_u8(&world.script));
    if (fields.left == 0) {
        return;
    }
    memcpy(payload, fields.at, fields.left);
    if (payload[0] == SSH_MSG_CHANNEL_OPEN && fields.left >= 9) {
        size_t place = 5 + (size_t)payload[4];
        payload[1] = payload[2] = payload[3] = 0;
        if (place + 4 > fields.left || world.client.next_number >= 1000 + PEER_CHANNELS - 2) {
            return;
        }
        memset(payload + place, 0, 2);
        payload[place + 2] = (uint8_t)(world.client.next_number >> 8);
        payload[place + 3] = (uint8_t)world.client.next_number++;
    }
    client_say(payload, fields.left);
}

static void op_raw(void)
{
    struct input bytes = input_take(&world.script, input_u8(&world.script));
    client_raw(bytes.at, bytes.left);
}

static void op_corrupt(void)
{
    uint32_t from_end = take_u16();
    client_corrupt(from_end, input_u8(&world.script));
}

/* ---- the network ----------------------------------------------------------------------------- */

static void op_chunk(void)
{
    static const size_t sizes[] = {UNLIMITED, 1, 3, 8, 100, 4096, 40000, 0};
    world.chunk = sizes[input_u8(&world.script) & 7];
}

static void op_socket(void)
{
    static const size_t rooms[] = {UNLIMITED, 0, 1, 10, 1000, 33000, 100000, 300000};
    static const int errors[] = {EAGAIN, EINTR, EPIPE, ECONNRESET};
    uint8_t kind = input_u8(&world.script);
    if (kind < 0xf0) {
        world.socket_room = rooms[kind & 7];
    } else {
        world.write_error = errors[kind & 3];
    }
}

static void op_hang_up(void)
{
    static const int errors[] = {0, ECONNRESET, ETIMEDOUT, EIO};
    world.client.read_error = errors[input_u8(&world.script) & 3];
    world.client.closed = true;
}

static void op_poll(void)
{
    uint8_t kind = input_u8(&world.script);
    switch (kind & 7) {
    case 0:
        world.poll_error = EINTR;
        break;
    case 1:
        world.poll_error = kind == 0xf9 ? ENOMEM : EINTR;
        break;
    case 2:
        world.monitor_ends = kind == 0xfa;
        break;
    case 3:
        world.monitor_gone = kind == 0xfb;
        break;
    case 4:
        world.session_gone = kind == 0xfc;
        break;
    default:
        world.spurious = kind >> 3;
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

static void op_time(void)
{
    static const uint32_t units[] = {1, 10, 1000, 60000};
    uint8_t kind = input_u8(&world.script);
    world.now_ms += (uint64_t)(1 + (kind >> 2)) * units[kind & 3];
}

/* ---- programs -------------------------------------------------------------------------------- */

static void op_program_writes(void)
{
    uint8_t number = input_u8(&world.script);
    size_t count = take_u16();
    struct program *program = pick_program(number);
    int stream = (number & 0x10) != 0 && program != NULL && !program->pty;
    size_t times = (number & 0x20) != 0 ? 16 : 1;
    if (program == NULL || program->output_closed[stream]) {
        return;
    }
    /* Megabytes in tiny packets would only take time. */
    bool tiny = program->channel >= 0 && world.channels[program->channel].packet < 1000;
    size_t most = tiny ? 4000 : 3 << 20;
    program->waiting[stream] += count * times;
    program->waiting[stream] = program->waiting[stream] < most ? program->waiting[stream] : most;
}

static void op_program_reads(void)
{
    static const size_t rooms[] = {UNLIMITED, 0, 1, 100, 32768, 32769, 65536, 200000};
    struct program *program = pick_program(input_u8(&world.script));
    size_t room = rooms[input_u8(&world.script) & 7];
    if (program != NULL) {
        program->room = room;
    }
}

static void op_program_closes(void)
{
    uint8_t number = input_u8(&world.script);
    struct program *program = pick_program(number);
    if (program == NULL) {
        return;
    }
    program->unnoticed = !program->input_closed && (number & 0x80) != 0;
    program->input_closed = program->input_closed || (number & 0x90) != 0;
    program->output_closed[0] = program->output_closed[0] || (number & 0x20) != 0;
    program->output_closed[1] = program->output_closed[1] || (number & 0x40) != 0;
}

/* With its highest bit `kind` is a signal; then the pipes stay open, as background jobs have them.
 */
static void op_program_exits(void)
{
    struct program *program = pick_program(input_u8(&world.script));
    uint8_t kind = input_u8(&world.script);
    if (program == NULL || program->exited) {
        return;
    }
    program->exited = true;
    program->result = (struct ipc_exit){.signaled = kind >> 7, .status = kind & 0x7f};
    program->result_bytes = kind == 0x7f ? 5 : kind == 0x7e ? 0 : sizeof(program->result);
    if ((kind & 0x40) == 0) {
        program->input_closed = program->output_closed[0] = program->output_closed[1] = true;
    }
}

/* ---- monitor and session process ------------------------------------------------------------- */

static void op_answer(void)
{
    uint8_t answer = input_u8(&world.script);
    if (world.answer_next == world.answer_count) {
        world.answer_next = world.answer_count = 0;
    }
    if (world.answer_count < sizeof(world.answers)) {
        world.answers[world.answer_count++] = answer;
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static void op_identify(void)
{
    client_identify(input_u8(&world.script));
}

static void op_ecdh_init(void)
{
    client_ecdh_init(input_u8(&world.script));
}

static void op_auth(void)
{
    client_auth(input_u8(&world.script));
}

static void op_log_in(void)
{
    client_log_in(input_u8(&world.script));
}

static void op_rekey(void)
{
    client_rekey(input_u8(&world.script));
}

static void op_global(void)
{
    client_global(input_u8(&world.script));
}

static void op_kexinit(void)
{
    uint8_t kind = input_u8(&world.script);
    client_kexinit(kind, input_u8(&world.script));
}

static void op_transport(void)
{
    uint8_t kind = input_u8(&world.script);
    client_transport(kind, input_u8(&world.script));
}

static void op_eof(void)
{
    op_channel_number(SSH_MSG_CHANNEL_EOF);
}

static void op_close(void)
{
    op_channel_number(SSH_MSG_CHANNEL_CLOSE);
}

static void op_unwanted(void)
{
    op_channel_number(SSH_MSG_CHANNEL_SUCCESS);
}

static const struct {
    char letter;
    void (*play)(void);
} operations[] = {
    {'i', op_identify},
    {'k', op_kexinit},
    {'e', op_ecdh_init},
    {'n', client_newkeys},
    {'t', op_transport},
    {'a', op_auth},
    {'L', op_log_in},
    {'K', op_rekey},
    {'o', op_open},
    {'r', op_request},
    {'d', op_data},
    {'w', op_adjust},
    {'f', op_eof},
    {'c', op_close},
    {'u', op_unwanted},
    {'g', op_global},
    {'m', op_message},
    {'b', op_raw},
    {'x', op_corrupt},
    {'C', op_chunk},
    {'S', op_socket},
    {'H', op_hang_up},
    {'P', op_poll},
    {'T', op_time},
    {'W', op_program_writes},
    {'R', op_program_reads},
    {'Q', op_program_closes},
    {'X', op_program_exits},
    {'A', op_answer},
};

/* Any other letter is a turn without an event. */
static void play(uint8_t operation)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (operation == (uint8_t)operations[i].letter) {
            operations[i].play();
        }
    }
}

bool script_turn(void)
{
    uint8_t operation = 0x80;
    if (world.script.left == 0) {
        /* Megabytes byte by byte would only take time. */
        world.chunk = world.turns > 5000 ? UNLIMITED : world.chunk;
        return false;
    }
    while ((operation & 0x80) != 0 && world.script.left > 0) {
        operation = input_u8(&world.script);
        play(operation & 0x7f);
        moved();
    }
    return true;
}
