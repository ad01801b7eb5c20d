/*
 * Every message that the product handles or makes passes here: the linker puts these functions
 * before packet_open() and packet_seal(). What may come in which phase is what
 * message_phases.h says.
 */
#include "world.h"

#include <string.h>

#include "message_phases.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes)   ((void)(start), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#endif

/* ---- phases ---------------------------------------------------------------------------------- */

/* The number's phases, in letters; NULL if the product does not know the number. */
static const char *phases_of(uint8_t number)
{
#define ROW(number, taken, handler) [number] = taken,
    static const char *const known[UINT8_MAX + 1] = {MESSAGE_PHASES(ROW)};
    return known[number];
}

static bool may_come(uint8_t number, enum ssh_phase phase)
{
    const char letter = PHASE_LETTERS[phase];
    const char *phases = phases_of(number);
    return strchr(phases != NULL ? phases : PHASES_OF_UNKNOWN, letter) != NULL ||
           (number >= 30 && number < 50 && strchr(PHASES_OF_GUESS, letter) != NULL);
}

/* ---- memory that is not to be read ----------------------------------------------------------- */

#define GUARD_BYTES 64

/* The bytes of the input buffer behind what the product has got: AddressSanitizer cannot know them.
 */
static void guard(uint8_t *start, size_t bytes)
{
    uint8_t *end = world.connection->buffers.input + LIMIT_INPUT_BYTES;
    size_t room = start < end ? (size_t)(end - start) : 0;
    world.guarded = start;
    world.guarded_bytes = bytes < room ? bytes : room;
    ASAN_POISON_MEMORY_REGION(world.guarded, world.guarded_bytes);
}

static void unguard(void)
{
    if (world.guarded_bytes > 0) {
        ASAN_UNPOISON_MEMORY_REGION(world.guarded, world.guarded_bytes);
        world.guarded_bytes = 0;
    }
}

/* ---- the client's messages ------------------------------------------------------------------- */

void judge_message(const uint8_t *payload, size_t payload_bytes, uint32_t sequence)
{
    const struct connection *connection = world.connection;
    enum ssh_phase phase = connection->phase;
    goal_reached(GOAL_IDENTIFIED);
    world.handling = true;
    world.phase_before = phase;
    world.number = payload[0];
    world.must_end = !may_come(payload[0], phase);
    world.must_live = false;
    world.granted = 0;
    world.verdict = UINT32_MAX;
    world.request_signed = false;
    world.handled_slot = LIMIT_CHANNELS;
    bool guess = phase == SSH_PHASE_GUESS || phase == SSH_PHASE_REKEY_GUESS;
    if (world.must_end || (guess && payload[0] >= 30)) {
        return;
    }
    if (phases_of(payload[0]) == NULL) {
        expect_reply(SSH_MSG_UNIMPLEMENTED, sequence, 0, 0);
    } else {
        judge_fields(payload, payload_bytes);
    }
}

static enum ssh_phase phase_after(void)
{
    bool first = world.session_id_bytes == 0;
    switch (world.number) {
    case SSH_MSG_KEXINIT:
        if (world.wrong_guess) {
            return first ? SSH_PHASE_GUESS : SSH_PHASE_REKEY_GUESS;
        }
        return first ? SSH_PHASE_ECDH : SSH_PHASE_REKEY_ECDH;
    case SSH_MSG_NEWKEYS:
        return world.phase_before == SSH_PHASE_NEWKEYS ? SSH_PHASE_SERVICE : world.resume;
    case SSH_MSG_SERVICE_REQUEST:
        return SSH_PHASE_AUTH;
    case SSH_MSG_USERAUTH_REQUEST:
        return world.logged_in ? SSH_PHASE_OPEN : SSH_PHASE_AUTH;
    default:
        break;
    }
    if (world.number >= 30 && world.number < 50) {
        switch (world.phase_before) {
        case SSH_PHASE_GUESS:
            goal_reached(GOAL_GUESS);
            return SSH_PHASE_ECDH;
        case SSH_PHASE_REKEY_GUESS:
            goal_reached(GOAL_GUESS);
            return SSH_PHASE_REKEY_ECDH;
        case SSH_PHASE_ECDH:
            return SSH_PHASE_NEWKEYS;
        case SSH_PHASE_REKEY_ECDH:
            return SSH_PHASE_REKEY_NEWKEYS;
        default:
            break;
        }
    }
    return world.phase_before;
}

/* The client's keys change behind its NEWKEYS, and with strict key exchange the sequence number. */
static void change_keys(void)
{
    world.in_epoch++;
    if (world.strict) {
        world.in_sequence = 0;
    }
    goal_reached(GOAL_KEX);
}

/* Both sides have sent CLOSE: the number is free. */
static void free_slot_if_closed(void)
{
    uint32_t slot = world.handled_slot;
    if (slot < LIMIT_CHANNELS && !channel_is_open(&world.connection->channels[slot])) {
        world.slot_channel[slot] = -1;
    }
}

/* Reasons that a message of the client's has, and not a deadline or a request. */
static bool blames_client(const char *reason)
{
    static const char *const starts[] = {"data ", "malformed ", "message ", "window beyond"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(reason, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

void judge_done(void)
{
    unguard();
    if (!world.handling) {
        return;
    }
    const struct connection *connection = world.connection;
    world.handling = false;
    moved();
    FUZZ_CHECK(!world.must_end || connection->end.reached);
    FUZZ_CHECK(!world.must_live || !connection->end.reached ||
               !blames_client(connection->end.reason));
    free_slot_if_closed();
    if (connection->end.reached) {
        return;
    }
    FUZZ_CHECK(connection->phase == phase_after());
    if (world.number == SSH_MSG_NEWKEYS) {
        change_keys();
    }
    FUZZ_CHECK(world.expected_first == world.expected_end || connection->kex.sent ||
               world.ambiguous);
    if (connection->kex.sent && world.expected_first < world.expected_end) {
        goal_reached(GOAL_HELD_BACK);
    }
}

/* ---- between the product's files ------------------------------------------------------------- */

enum packet_status __real_packet_open(struct packet_direction *direction, uint8_t *bytes,
                                      size_t count, struct packet *packet);
enum packet_status __wrap_packet_open(struct packet_direction *direction, uint8_t *bytes,
                                      size_t count, struct packet *packet);
enum packet_status __wrap_packet_open(struct packet_direction *direction, uint8_t *bytes,
                                      size_t count, struct packet *packet)
{
    judge_done();
    FUZZ_CHECK(!world.connection->end.reached && direction->sequence == world.in_sequence);
    FUZZ_CHECK(direction->sealed == (world.in_epoch > 0));
    FUZZ_CHECK(direction->logged_in == world.logged_in);
    guard(bytes + count, GUARD_BYTES);
    enum packet_status status = __real_packet_open(direction, bytes, count, packet);
    unguard();
    if (status == PACKET_READY) {
        FUZZ_CHECK(packet->total_bytes <= count && packet->payload_bytes > 0);
        uint8_t *behind = packet->payload + packet->payload_bytes;
        guard(behind, packet->total_bytes - (size_t)(behind - bytes));
        judge_message(packet->payload, packet->payload_bytes, world.in_sequence++);
    } else if (status == PACKET_CORRUPT) {
        goal_reached(GOAL_CORRUPT);
        world.handling = world.must_end = true;
    }
    return status;
}

size_t __real_packet_seal(struct packet_direction *direction, uint8_t *bytes, size_t payload_bytes);
size_t __wrap_packet_seal(struct packet_direction *direction, uint8_t *bytes, size_t payload_bytes);
size_t __wrap_packet_seal(struct packet_direction *direction, uint8_t *bytes, size_t payload_bytes)
{
    const uint8_t *payload = bytes + PACKET_HEADER_BYTES;
    uint8_t number = payload[0];
    moved();
    FUZZ_CHECK(direction->sequence == world.out_sequence);
    FUZZ_CHECK(direction->sealed == (world.out_epoch > 0));
    listen_message(payload, payload_bytes);
    wire_sealed(payload, payload_bytes);
    size_t total = __real_packet_seal(direction, bytes, payload_bytes);
    world.out_sequence++;
    if (number == SSH_MSG_NEWKEYS) {
        world.out_epoch++;
        world.out_sequence = world.strict ? 0 : world.out_sequence;
    }
    return total;
}
