/* What the product may send: each message as it is made, in its order. */
#include "world.h"

#include <string.h>

struct message {
    uint8_t number;
    struct input fields;
};

static uint32_t read_u32(struct message *message)
{
    FUZZ_CHECK(message->fields.left >= 4);
    return input_u32(&message->fields);
}

static uint8_t read_u8(struct message *message)
{
    FUZZ_CHECK(message->fields.left >= 1);
    return input_u8(&message->fields);
}

static struct input read_string(struct message *message)
{
    uint32_t count = read_u32(message);
    FUZZ_CHECK(count <= message->fields.left);
    return input_take(&message->fields, count);
}

static void at_end(const struct message *message)
{
    FUZZ_CHECK(message->fields.left == 0);
}

static bool is_text(struct input string, const char *text)
{
    return string.left == strlen(text) && memcmp(string.at, text, string.left) == 0;
}

static bool is_fill(struct input string, uint8_t byte, size_t count)
{
    bool same = string.left == count;
    for (size_t i = 0; i < string.left; i++) {
        same = same && string.at[i] == byte;
    }
    return same;
}

/* The reply that is due first. */
static struct expectation take_expected(uint8_t number)
{
    FUZZ_CHECK(world.expected_first < world.expected_end);
    struct expectation one = world.expected[world.expected_first++];
    FUZZ_CHECK(one.number == number);
    return one;
}

/* ---- transport ------------------------------------------------------------------------------- */

static void keep_first(struct input list, uint8_t first[static 64])
{
    size_t count = 0;
    while (count < list.left && count < 63 && list.at[count] != ',') {
        first[count] = list.at[count];
        count++;
    }
    first[count] = '\0';
}

static void hear_kexinit(struct message *message, const uint8_t *payload, size_t payload_bytes)
{
    FUZZ_CHECK(!world.in_exchange);
    world.in_exchange = world.said_kexinit = true;
    world.said_reply = false;
    world.kexinit_bytes[1] = payload_bytes;
    world.kexinit_digest[1] = digest_of(payload, payload_bytes);
    FUZZ_CHECK(message->fields.left > 16);
    input_take(&message->fields, 16);
    keep_first(read_string(message), world.first_method);
    keep_first(read_string(message), world.first_host_key);
    for (int i = 0; i < 8; i++) {
        read_string(message);
    }
    FUZZ_CHECK(read_u8(message) == 0 && read_u32(message) == 0);
}

/* K_S, Q_S, and the signature that the monitor has made. */
static void hear_reply(struct message *message)
{
    FUZZ_CHECK(world.in_exchange && !world.said_reply && world.handling);
    FUZZ_CHECK(world.number == SSH_MSG_KEX_ECDH_INIT);
    world.said_reply = true;
    struct input key = read_string(message);
    bool certified = is_fill(key, 0x63, 300);
    FUZZ_CHECK(certified || key.left == 51);
    FUZZ_CHECK(!certified || (world.config[1] & 2U) != 0);
    if (certified) {
        goal_reached(GOAL_CERTIFIED);
    }
    struct input q_s = read_string(message);
    FUZZ_CHECK(is_fill(q_s, 0x51, AGREE_X25519_BYTES) ||
               is_fill(q_s, 0x53, AGREE_HYBRID_SERVER_BYTES));
    struct message inner = {.fields = read_string(message)};
    FUZZ_CHECK(is_text(read_string(&inner), "ssh-ed25519"));
    struct input signature = read_string(&inner);
    FUZZ_CHECK(signature.left == 64 && memcmp(signature.at, world.signature, 64) == 0);
    at_end(&inner);
}

static void hear_newkeys(void)
{
    FUZZ_CHECK(world.in_exchange && world.said_reply);
    world.in_exchange = false;
}

static void hear_disconnect(struct message *message)
{
    FUZZ_CHECK(world.connection->end.reached);
    read_u32(message);
    read_string(message);
    read_string(message);
    world.said_disconnect = true;
    goal_reached(GOAL_DISCONNECT);
}

static void hear_ext_info(struct message *message)
{
    FUZZ_CHECK(world.exchanges == 1 && world.handling && !world.in_exchange &&
               world.number == SSH_MSG_KEX_ECDH_INIT);
    uint32_t count = read_u32(message);
    for (uint32_t i = 0; i < 2 * count; i++) {
        read_string(message);
    }
}

static void hear_unimplemented(struct message *message)
{
    uint32_t sequence = read_u32(message);
    FUZZ_CHECK(world.ambiguous || take_expected(SSH_MSG_UNIMPLEMENTED).value == sequence);
}

static void hear_pong(struct message *message)
{
    struct expectation one = take_expected(SSH_MSG_PING);
    struct input data = read_string(message);
    FUZZ_CHECK(data.left == one.value && digest_of(data.at, data.left) == one.digest);
}

/* ---- login ----------------------------------------------------------------------------------- */

/* Once, before the first answer. */
static void hear_banner(struct message *message)
{
    const struct banner *banner = world.options.banner;
    FUZZ_CHECK(banner != NULL && !world.banner_heard && !world.logged_in);
    struct input text = read_string(message);
    FUZZ_CHECK(text.left == banner->bytes && memcmp(text.at, banner->text, banner->bytes) == 0);
    FUZZ_CHECK(read_string(message).left == 0);
    world.banner_heard = true;
}

static void hear_login(struct message *message)
{
    FUZZ_CHECK(!world.logged_in && world.banner_heard == (world.options.banner != NULL));
    take_expected(SSH_MSG_USERAUTH_REQUEST);
    bool accepted = world.verdict == IPC_VERDICT_ACCEPTED;
    if (message->number == SSH_MSG_USERAUTH_SUCCESS) {
        FUZZ_CHECK(accepted && world.request_signed);
        world.logged_in = true;
        goal_reached(GOAL_LOGIN);
    } else if (message->number == SSH_MSG_USERAUTH_PK_OK) {
        FUZZ_CHECK(accepted && !world.request_signed);
        read_string(message);
        read_string(message);
        goal_reached(GOAL_PROBED);
    } else {
        FUZZ_CHECK(!accepted && is_text(read_string(message), "publickey"));
        FUZZ_CHECK(read_u8(message) == 0);
    }
}

/* ---- global requests and channels ------------------------------------------------------------ */

static void hear_global(struct message *message)
{
    struct expectation one = take_expected(SSH_MSG_GLOBAL_REQUEST);
    bool proof = one.slot != 0;
    FUZZ_CHECK(proof || (message->number == SSH_MSG_REQUEST_SUCCESS) == (one.value != 0));
    if (proof && message->number == SSH_MSG_REQUEST_SUCCESS) {
        goal_reached(GOAL_PROVED);
        while (message->fields.left > 0) {
            read_string(message);
        }
    }
}

static void hear_announcement(struct message *message)
{
    FUZZ_CHECK(is_text(read_string(message), "hostkeys-00@openssh.com"));
    FUZZ_CHECK(read_u8(message) == 0);
    for (unsigned keys = 1 + (world.config[1] & 1U); keys > 0; keys--) {
        FUZZ_CHECK(read_string(message).left == 51);
    }
}

static void hear_opened(struct message *message)
{
    struct expectation one = take_expected(SSH_MSG_CHANNEL_OPEN);
    FUZZ_CHECK(read_u32(message) == one.value);
    if (message->number == SSH_MSG_CHANNEL_OPEN_FAILURE) {
        FUZZ_CHECK(one.slot == LIMIT_CHANNELS);
        read_u32(message);
        read_string(message);
        read_string(message);
        return;
    }
    FUZZ_CHECK(read_u32(message) == one.slot && one.slot < LIMIT_CHANNELS);
    FUZZ_CHECK(read_u32(message) == LIMIT_WINDOW_BYTES);
    FUZZ_CHECK(read_u32(message) == LIMIT_CHANNEL_PACKET_BYTES);
    channel_by_number(one.value)->confirmed = true;
    goal_reached(GOAL_OPEN);
}

static void hear_data(struct message *message, struct peer_channel *channel)
{
    int stream = message->number == SSH_MSG_CHANNEL_DATA ? 0 : 1;
    if (stream == 1) {
        FUZZ_CHECK(read_u32(message) == 1);
        goal_reached(GOAL_STDERR);
    }
    struct input data = read_string(message);
    FUZZ_CHECK(!channel->heard_eof && data.left > 0);
    FUZZ_CHECK(data.left <= channel->window && data.left <= channel->packet);
    FUZZ_CHECK(data.left <= LIMIT_CHANNEL_PACKET_BYTES);
    channel->window -= data.left;
    FUZZ_CHECK(memcmp(data.at, stream_bytes(STREAM_STDOUT + stream, channel->heard[stream]),
                      data.left) == 0);
    channel->heard[stream] += data.left;
    goal_reached(GOAL_OUTPUT);
}

static void hear_adjust(struct message *message, struct peer_channel *channel)
{
    uint32_t more = read_u32(message);
    FUZZ_CHECK(more > 0 && more <= LIMIT_LARGEST_WINDOW_BYTES - channel->credit);
    FUZZ_CHECK(!channel->said_eof);
    channel->credit += more;
    goal_reached(GOAL_RETURNED);
    if (channel->credit > LIMIT_WINDOW_BYTES) {
        goal_reached(GOAL_GROWN);
    }
}

static void hear_request(struct message *message, struct peer_channel *channel)
{
    struct input type = read_string(message);
    FUZZ_CHECK(read_u8(message) == 0);
    if (is_text(type, "eow@openssh.com")) {
        FUZZ_CHECK(!channel->heard_eow && world.connection->client_version_bytes >= 15);
        FUZZ_CHECK(memcmp(world.connection->client_version, "SSH-2.0-OpenSSH", 15) == 0);
        channel->heard_eow = true;
        goal_reached(GOAL_EOW);
        return;
    }
    FUZZ_CHECK(!channel->heard_status);
    channel->heard_status = true;
    if (is_text(type, "exit-status")) {
        read_u32(message);
        goal_reached(GOAL_EXIT_STATUS);
    } else {
        FUZZ_CHECK(is_text(type, "exit-signal"));
        FUZZ_CHECK(read_string(message).left >= 3);
        read_u8(message);
        read_string(message);
        read_string(message);
        goal_reached(GOAL_EXIT_SIGNAL);
    }
}

/* Success of pty-req, shell, exec and subsystem needs what the session process has given. */
static void hear_answer(struct message *message, struct peer_channel *channel)
{
    struct expectation one = take_expected(SSH_MSG_CHANNEL_REQUEST);
    FUZZ_CHECK(one.value == channel->number);
    (void)message;
}

static void hear_close(struct peer_channel *channel)
{
    channel->heard_close = true;
    forget_replies(channel->number);
    if (channel->said_close && world.slot_channel[channel->slot] >= 0 &&
        &world.channels[world.slot_channel[channel->slot]] == channel) {
        world.slot_channel[channel->slot] = -1;
    }
}

static void hear_channel(struct message *message)
{
    struct peer_channel *channel = channel_by_number(read_u32(message));
    FUZZ_CHECK(channel != NULL && channel->confirmed && !channel->heard_close);
    switch (message->number) {
    case SSH_MSG_CHANNEL_WINDOW_ADJUST:
        hear_adjust(message, channel);
        break;
    case SSH_MSG_CHANNEL_DATA:
    case SSH_MSG_CHANNEL_EXTENDED_DATA:
        hear_data(message, channel);
        break;
    case SSH_MSG_CHANNEL_EOF:
        FUZZ_CHECK(!channel->heard_eof);
        channel->heard_eof = true;
        goal_reached(GOAL_EOF);
        break;
    case SSH_MSG_CHANNEL_CLOSE:
        hear_close(channel);
        break;
    case SSH_MSG_CHANNEL_REQUEST:
        hear_request(message, channel);
        break;
    default:
        hear_answer(message, channel);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* False for the messages of channels. */
static bool hear_other(struct message *message, const uint8_t *payload, size_t payload_bytes)
{
    switch (message->number) {
    case SSH_MSG_DISCONNECT:
        hear_disconnect(message);
        return true;
    case SSH_MSG_UNIMPLEMENTED:
        hear_unimplemented(message);
        return true;
    case SSH_MSG_SERVICE_ACCEPT:
        take_expected(SSH_MSG_SERVICE_REQUEST);
        FUZZ_CHECK(is_text(read_string(message), "ssh-userauth"));
        return true;
    case SSH_MSG_EXT_INFO:
        hear_ext_info(message);
        return true;
    case SSH_MSG_KEXINIT:
        hear_kexinit(message, payload, payload_bytes);
        return true;
    case SSH_MSG_KEX_ECDH_REPLY:
        hear_reply(message);
        return true;
    case SSH_MSG_NEWKEYS:
        hear_newkeys();
        return true;
    case SSH_MSG_USERAUTH_BANNER:
        hear_banner(message);
        return true;
    case SSH_MSG_USERAUTH_FAILURE:
    case SSH_MSG_USERAUTH_SUCCESS:
    case SSH_MSG_USERAUTH_PK_OK:
        hear_login(message);
        return true;
    default:
        return false;
    }
}

static void hear_open(struct message *message)
{
    FUZZ_CHECK(world.logged_in);
    switch (message->number) {
    case SSH_MSG_GLOBAL_REQUEST:
        hear_announcement(message);
        break;
    case SSH_MSG_REQUEST_SUCCESS:
    case SSH_MSG_REQUEST_FAILURE:
        hear_global(message);
        break;
    case SSH_MSG_PONG:
        hear_pong(message);
        break;
    case SSH_MSG_CHANNEL_OPEN_CONFIRMATION:
    case SSH_MSG_CHANNEL_OPEN_FAILURE:
        hear_opened(message);
        break;
    default:
        FUZZ_CHECK(message->number >= SSH_MSG_CHANNEL_WINDOW_ADJUST &&
                   message->number <= SSH_MSG_CHANNEL_FAILURE);
        hear_channel(message);
    }
}

void listen_message(const uint8_t *payload, size_t payload_bytes)
{
    struct message message = {.number = payload[0], .fields = {payload + 1, payload_bytes - 1}};
    bool of_exchange =
        message.number >= SSH_MSG_KEXINIT && message.number < SSH_MSG_USERAUTH_REQUEST;
    FUZZ_CHECK(payload_bytes > 0 && !world.said_disconnect);
    FUZZ_CHECK(!world.connection->end.reached || message.number == SSH_MSG_DISCONNECT);
    FUZZ_CHECK(world.said_kexinit || message.number == SSH_MSG_KEXINIT);
    FUZZ_CHECK(!world.in_exchange || of_exchange || message.number == SSH_MSG_DISCONNECT);
    if (!hear_other(&message, payload, payload_bytes) && !world.ambiguous) {
        hear_open(&message);
        at_end(&message);
    }
}
