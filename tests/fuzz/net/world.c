#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "net.h"
struct world world;

/* ---- goals ----------------------------------------------------------------------------------- */

static const char *const goal_names[GOALS] = {
    "identified",  "kex",      "strict",  "hybrid",       "certified",    "login",     "probed",
    "open",        "pty",      "spawned", "taken",        "queued",       "output",    "stderr",
    "exhausted",   "returned", "grown",   "rekey_client", "rekey_server", "held_back", "guess",
    "disconnect",  "eof",      "close",   "exit_status",  "exit_signal",  "eow",       "coalesced",
    "trimmed",     "signaled", "proved",  "slots_full",   "drained",      "corrupt",   "lingered",
    "short_write", "paced",    "widened", "break",        "waiting",
};

void goal_reached(enum goal goal)
{
    world.goals |= UINT64_C(1) << goal;
}

void goals_print(void)
{
    if (getenv("FUZZ_GOALS") == NULL) {
        return;
    }
    printf("goals:");
    for (int i = 0; i < GOALS; i++) {
        if ((world.goals >> i & 1) != 0) {
            printf(" %s", goal_names[i]);
        }
    }
    printf("\n");
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The product's state has 4.6 MB. Only what a run has touched is cleared. */
void world_clear(void)
{
    struct connection *connection = world.connection;
    struct buffers *buffers = &connection->buffers;
    size_t touched = connection->pool.touched;
    size_t output = connection->pages.output_touched > world.high_output
                        ? connection->pages.output_touched
                        : world.high_output;
    memset(connection, 0, offsetof(struct connection, buffers));
    memset(&buffers->kex, 0, sizeof(buffers->kex));
    memset(buffers->input, 0, world.high_input);
    memset(buffers->output, 0, output < LIMIT_OUTPUT_BYTES ? output : LIMIT_OUTPUT_BYTES);
    memset(&connection->pool, 0, offsetof(struct pool, chunks));
    memset(connection->pool.chunks, 0, touched * sizeof(connection->pool.chunks[0]));
}

static void make_connection(void)
{
    void *state = mmap(NULL, sizeof(struct connection), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    world.client.arriving = malloc(4 << 20);
    if (state == MAP_FAILED || world.client.arriving == NULL) {
        abort();
    }
    world.connection = state;
}

/* As new, but for memory that is used again. Descriptors and channels that were not used are clear
 * already. */
static void clear_world(void)
{
    struct connection *connection = world.connection;
    uint8_t *arriving = world.client.arriving, *wire = world.wire;
    size_t wire_room = world.wire_room;
    uint8_t *data[PEER_CHANNELS];
    size_t data_room[PEER_CHANNELS];
    for (int i = 0; i < PEER_CHANNELS; i++) {
        data[i] = world.channels[i].data;
        data_room[i] = world.channels[i].data_room;
    }
    memset(&world, 0, sizeof(world));
    world.connection = connection;
    world.client.arriving = arriving;
    world.wire = wire;
    world.wire_room = wire_room;
    for (int i = 0; i < PEER_CHANNELS; i++) {
        world.channels[i].data = data[i];
        world.channels[i].data_room = data_room[i];
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* The longest one. */
static struct banner banner = {.bytes = 2 * LIMIT_BANNER_BYTES};

static void configure(void)
{
    uint8_t first = world.config[0];
    world.options = (struct net_options){.verbosity = (first & 2) != 0 ? 2 : 0,
                                         .no_sntrup = (first & 4) != 0,
                                         .no_curve25519 = (first & 0x14) == 0x10,
                                         .idle_seconds = (first & 8) != 0 ? 30 : 0,
                                         .forced = (first & 0x20) != 0,
                                         .banner = (world.config[1] & 128) != 0 ? &banner : NULL,
                                         .login_seconds = LIMIT_LOGIN_SECONDS};
    world.refuses_wide_pipes = (world.config[1] & 8) != 0;
    world.refuses_ioctl = (world.config[1] & 16) != 0;
    world.breaks = (world.config[1] & 32) != 0;
    world.ignores = (world.config[1] & 64) != 0;
}

static void start(struct input script, bool plain_tags)
{
    if (world.connection == NULL) {
        make_connection();
    }
    clear_world();
    world.config[0] = input_u8(&script);
    world.config[1] = input_u8(&script);
    world.script = script;
    world.plain_tags = plain_tags;
    world.now_ms = 1000000;
    world.chunk = world.socket_room = UNLIMITED;
    world.spurious = -1;
    world.next_fd = FIRST_FD;
    world.client.next_number = 1000;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        world.slot_program[i] = world.slot_channel[i] = -1;
    }
    configure();
}

/* The monitor always learns of the end, and nothing is left to be answered. */
static void check_end(void)
{
    const struct connection *connection = world.connection;
    judge_done();
    invariants_hold();
    FUZZ_CHECK(connection->end.reached && !world.replies);
    FUZZ_CHECK(connection->end.reason[0] != '\0');
    wire_end();
}

static void run(void)
{
    connection_init(world.connection, &world.options, MONITOR_FD, SESSION_FD,
                    (world.config[0] & 1) != 0);
    world.running = true;
    loop_run(world.connection, 0);
    world.running = false;
    check_end();
}

void world_run(struct input script)
{
    start(script, false);
    run();
    goals_print();
    world_clear();
}

void world_run_bytes(struct input bytes, uint32_t parts)
{
    start(bytes, true);
    client_raw(world.script.at, world.script.left);
    world.script.left = 0;
    world.parts = parts;
    world.client.closed = true;
    run();
}
