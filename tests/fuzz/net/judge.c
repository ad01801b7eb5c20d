/*
 * What the product may do with each message of the client's. The linker puts these functions before
 * packet_open() and packet_seal(), so that they see every message in the order in which the product
 * handles and makes them. The phases and what is allowed in each are stated here a second time.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"

/* ---- fields ---------------------------------------------------------------------------------- */

static uint32_t read_u32(struct input *input)
{
    return input_u32(input);
}

/* A string that is cut short is NULL, and nothing is left. */
static struct input read_string(struct input *input)
{
    uint32_t count = input->left >= 4 ? read_u32(input) : UINT32_MAX;
    if (count > input->left) {
        *input = (struct input){.at = input->at, .left = 0};
        return (struct input){.at = NULL, .left = 0};
    }
    return input_take(input, count);
}

static bool is_text(struct input string, const char *text)
{
    return string.left == strlen(text) && string.left > 0 &&
           memcmp(string.at, text, string.left) == 0;
}

/* ---- channels -------------------------------------------------------------------------------- */

struct peer_channel *channel_by_number(uint32_t number)
{
    for (int i = world.channel_count - 1; i >= 0; i--) {
        if (world.channels[i].number == number) {
            return &world.channels[i];
        }
    }
    return NULL;
}

struct peer_channel *channel_by_slot(uint32_t slot)
{
    int index = slot < LIMIT_CHANNELS ? world.slot_channel[slot] : -1;
    return index >= 0 ? &world.channels[index] : NULL;
}

/* The lowest number that no open channel has; LIMIT_CHANNELS if there is none. */
static uint32_t free_slot(void)
{
    uint32_t slot = 0;
    while (slot < LIMIT_CHANNELS && world.slot_channel[slot] >= 0) {
        slot++;
    }
    return slot;
}

/* The client may use a number again once both sides have sent CLOSE. */
static bool is_in_use(uint32_t number)
{
    const struct peer_channel *channel = channel_by_number(number);
    return channel != NULL && !(channel->heard_close && channel->said_close);
}

static void open_slot(uint32_t slot, uint32_t number, uint32_t window, uint32_t packet)
{
    FUZZ_CHECK(world.slot_state[slot] == 0);
    if (is_in_use(number) || world.channel_count == PEER_CHANNELS) {
        world.ambiguous = true;
        return;
    }
    struct peer_channel *channel = &world.channels[world.channel_count];
    uint8_t *data = channel->data;
    size_t data_room = channel->data_room;
    *channel = (struct peer_channel){.number = number,
                                     .slot = slot,
                                     .packet = packet,
                                     .window = window,
                                     .credit = LIMIT_WINDOW_BYTES,
                                     .data = data,
                                     .data_room = data_room};
    world.slot_channel[slot] = world.channel_count++;
    world.slot_given_up[slot] = false;
    if (slot == LIMIT_CHANNELS - 1) {
        goal_reached(GOAL_SLOTS_FULL);
    }
}

static void keep_data(struct peer_channel *channel, struct input data)
{
    size_t needed = channel->data_bytes + data.left;
    if (needed > channel->data_room) {
        channel->data_room = 2 * needed;
        channel->data = realloc(channel->data, channel->data_room);
        if (channel->data == NULL) {
            abort();
        }
    }
    if (data.left > 0) {
        memcpy(channel->data + channel->data_bytes, data.at, data.left);
    }
    channel->data_bytes = needed;
}

/* ---- replies --------------------------------------------------------------------------------- */

void expect_reply(uint8_t number, uint32_t value, uint32_t slot, uint32_t digest)
{
    if (world.expected_first == world.expected_end) {
        world.expected_first = world.expected_end = 0;
    }
    FUZZ_CHECK(world.expected_end < EXPECTATIONS);
    world.expected[world.expected_end++] =
        (struct expectation){.number = number, .value = value, .slot = slot, .digest = digest};
}

/* Requests that cross our CLOSE get no answer. */
void forget_replies(uint32_t number)
{
    size_t kept = world.expected_first;
    for (size_t i = world.expected_first; i < world.expected_end; i++) {
        const struct expectation *one = &world.expected[i];
        if (one->number != SSH_MSG_CHANNEL_REQUEST || one->value != number) {
            world.expected[kept++] = *one;
        }
    }
    world.expected_end = kept;
}

/* ---- key exchange ---------------------------------------------------------------------------- */

static bool starts_list(struct input list, const uint8_t *name)
{
    size_t count = strlen((const char *)name);
    return list.left >= count && memcmp(list.at, name, count) == 0 &&
           (list.left == count || list.at[count] == ',');
}

/* What stands behind an empty name does not count. */
static bool list_names(struct input list, const char *name)
{
    while (list.left > 0) {
        size_t count = 0;
        while (count < list.left && list.at[count] != ',') {
            count++;
        }
        struct input one = input_take(&list, count);
        bool last = list.left == 1; /* a comma at the end: the list has an empty name */
        input_take(&list, 1);
        if (one.left == 0 || last) {
            return false;
        }
        if (is_text(one, name)) {
            return true;
        }
    }
    return false;
}

static void judge_kexinit(const uint8_t *payload, size_t payload_bytes)
{
    struct input message = {payload, payload_bytes};
    input_take(&message, 17);
    struct input methods = read_string(&message);
    struct input host_keys = read_string(&message);
    for (int i = 0; i < 8; i++) {
        read_string(&message);
    }
    bool follows = input_u8(&message) != 0;
    world.wrong_guess = follows && !(starts_list(methods, world.first_method) &&
                                     starts_list(host_keys, world.first_host_key));
    if (!world.strict_known) {
        world.strict_known = true;
        world.strict = list_names(methods, "kex-strict-c-v00@openssh.com");
        if (world.strict) {
            goal_reached(GOAL_STRICT);
        }
    }
    world.kexinit_bytes[0] = payload_bytes;
    world.kexinit_digest[0] = digest_of(payload, payload_bytes);
    world.resume = world.phase_before;
    if (world.phase_before == SSH_PHASE_OPEN) {
        goal_reached(world.in_exchange ? GOAL_REKEY_SERVER : GOAL_REKEY_CLIENT);
    }
}

static void judge_ecdh_init(const uint8_t *payload, size_t payload_bytes)
{
    struct input message = {payload + 1, payload_bytes - 1};
    struct input q_c = read_string(&message);
    world.q_c_digest = digest_of(q_c.at, q_c.left);
    if (q_c.left == AGREE_HYBRID_CLIENT_BYTES) {
        goal_reached(GOAL_HYBRID);
    }
}

/* ---- messages of a channel ------------------------------------------------------------------- */

static void judge_open(struct input message)
{
    if (world.ambiguous) {
        return;
    }
    struct input type = read_string(&message);
    bool whole = message.left >= 12;
    uint32_t number = read_u32(&message);
    uint32_t window = read_u32(&message);
    uint32_t packet = read_u32(&message);
    bool session = is_text(type, "session");
    if (!whole || (session && message.left > 0)) {
        world.must_end = true;
        return;
    }
    uint32_t slot =
        session && !world.no_more_sessions && packet >= 32 ? free_slot() : LIMIT_CHANNELS;
    expect_reply(SSH_MSG_CHANNEL_OPEN, number, slot, 0);
    if (slot < LIMIT_CHANNELS) {
        open_slot(slot, number, window, packet);
        world.must_live = true;
    }
}

static void judge_data(struct peer_channel *channel, struct input message)
{
    if (world.number == SSH_MSG_CHANNEL_EXTENDED_DATA) {
        world.must_end = message.left < 4;
        read_u32(&message);
    }
    struct input data = read_string(&message);
    world.must_end = world.must_end || data.at == NULL || message.left > 0 || channel->said_eof ||
                     data.left > channel->credit || data.left > LIMIT_CHANNEL_PACKET_BYTES;
    if (world.must_end) {
        return;
    }
    world.must_live = true;
    channel->credit -= (uint32_t)data.left;
    channel->in_flight -= channel->in_flight < data.left ? channel->in_flight : data.left;
    if (channel->credit == 0) {
        goal_reached(GOAL_EXHAUSTED);
    }
    if (world.number == SSH_MSG_CHANNEL_DATA) {
        keep_data(channel, data);
    }
}

static void judge_adjust(struct peer_channel *channel, struct input message)
{
    bool whole = message.left == 4;
    uint32_t more = read_u32(&message);
    world.must_end = !whole || more > UINT32_MAX - channel->window;
    world.must_live = !world.must_end;
    channel->window += world.must_end ? 0 : more;
}

static void judge_close(struct peer_channel *channel, struct input message)
{
    world.must_end = message.left > 0;
    if (!world.must_end) {
        channel->said_close = true;
        world.handled_slot = channel->slot;
        goal_reached(GOAL_CLOSE);
    }
}

static void judge_request(struct peer_channel *channel, struct input message)
{
    struct input type = read_string(&message);
    bool whole = type.at != NULL && message.left > 0;
    bool want_reply = input_u8(&message) != 0;
    world.must_end = !whole;
    if (whole && want_reply && !channel->heard_close) {
        expect_reply(SSH_MSG_CHANNEL_REQUEST, channel->number, channel->slot, 0);
    }
}

static void judge_channel(struct input message)
{
    bool whole = message.left >= 4;
    uint32_t slot = read_u32(&message);
    struct peer_channel *channel = whole ? channel_by_slot(slot) : NULL;
    if (world.number == SSH_MSG_CHANNEL_SUCCESS || world.number == SSH_MSG_CHANNEL_FAILURE) {
        return;
    }
    if (channel == NULL) {
        /* Some clients return window behind their CLOSE. */
        bool late = whole && world.number == SSH_MSG_CHANNEL_WINDOW_ADJUST && slot < LIMIT_CHANNELS;
        world.must_end = !late;
        return;
    }
    switch (world.number) {
    case SSH_MSG_CHANNEL_WINDOW_ADJUST:
        judge_adjust(channel, message);
        break;
    case SSH_MSG_CHANNEL_DATA:
    case SSH_MSG_CHANNEL_EXTENDED_DATA:
        judge_data(channel, message);
        break;
    case SSH_MSG_CHANNEL_EOF:
        world.must_end = message.left > 0;
        channel->said_eof = channel->said_eof || !world.must_end;
        break;
    case SSH_MSG_CHANNEL_CLOSE:
        judge_close(channel, message);
        break;
    default:
        judge_request(channel, message);
    }
}

/* ---- messages without a channel -------------------------------------------------------------- */

static void judge_global(struct input message)
{
    struct input type = read_string(&message);
    bool whole = type.at != NULL && message.left > 0;
    bool want_reply = input_u8(&message) != 0;
    world.must_end = !whole;
    if (!whole) {
        return;
    }
    bool last = is_text(type, "no-more-sessions@openssh.com");
    bool proof = is_text(type, "hostkeys-prove-00@openssh.com");
    world.no_more_sessions = world.no_more_sessions || last;
    if (want_reply) {
        expect_reply(SSH_MSG_GLOBAL_REQUEST, last, proof, 0);
    }
}

static void judge_ping(struct input message)
{
    struct input data = read_string(&message);
    expect_reply(SSH_MSG_PING, (uint32_t)data.left, 0, digest_of(data.at, data.left));
}

/* ---- all ------------------------------------------------------------------------------------- */

void judge_fields(const uint8_t *payload, size_t payload_bytes)
{
    struct input message = {payload + 1, payload_bytes - 1};
    switch (world.number) {
    case SSH_MSG_KEXINIT:
        judge_kexinit(payload, payload_bytes);
        break;
    case SSH_MSG_KEX_ECDH_INIT:
        judge_ecdh_init(payload, payload_bytes);
        break;
    case SSH_MSG_SERVICE_REQUEST:
        expect_reply(SSH_MSG_SERVICE_REQUEST, 0, 0, 0);
        break;
    case SSH_MSG_USERAUTH_REQUEST:
        if (world.phase_before == SSH_PHASE_AUTH) {
            expect_reply(SSH_MSG_USERAUTH_REQUEST, 0, 0, 0);
        }
        break;
    case SSH_MSG_GLOBAL_REQUEST:
        judge_global(message);
        break;
    case SSH_MSG_CHANNEL_OPEN:
        judge_open(message);
        break;
    case SSH_MSG_PING:
        judge_ping(message);
        break;
    default:
        if (world.number >= SSH_MSG_CHANNEL_WINDOW_ADJUST &&
            world.number <= SSH_MSG_CHANNEL_FAILURE && !world.ambiguous) {
            judge_channel(message);
        }
    }
}
