/* After a key exchange unused memory is returned once, and memory in use stays. window.c tests the
 * memory of transfers. */
#include "net.h"

#include <string.h>

#include "rig.h"
#include "unit.h"

#define NOW_MS 1000

static struct rig rig;

/* After a key exchange. */
static void start(void)
{
    rig_open(&rig, SSH_PHASE_OPEN);
    rig.connection->now_ms = NOW_MS;
    rig.connection->kex.since_ms = NOW_MS - LIMIT_REST_MS;
}

UNIT_FIXTURE(start, NULL);

/* ---- when ------------------------------------------------------------------------------------ */

TEST(once_after_each_key_exchange_and_session)
{
    struct connection *connection = rig.connection;
    ck_assert(idle_trim_due(connection));
    idle_trim(connection);
    ck_assert(!idle_trim_due(connection));
    connection->kex.since_ms = NOW_MS + 1;
    ck_assert(idle_trim_due(connection));
    connection->now_ms = NOW_MS + 2;
    idle_trim(connection);
    ck_assert(!idle_trim_due(connection));
    connection->pages.begun_ms = NOW_MS + 3;
    ck_assert(idle_trim_due(connection));
}

TEST(not_during_a_key_exchange)
{
    rig.connection->kex.sent = true;
    memset(rig.connection->buffers.kex.client_kexinit, 0xa5,
           sizeof(rig.connection->buffers.kex.client_kexinit));
    memset(rig.connection->buffers.kex.deferred, 0xa5,
           sizeof(rig.connection->buffers.kex.deferred));
    ck_assert(!idle_trim_due(rig.connection));
    idle_trim(rig.connection);
    for (size_t i = 0; i < sizeof(rig.connection->buffers.kex.client_kexinit); i++) {
        ck_assert_uint_eq(rig.connection->buffers.kex.client_kexinit[i], 0xa5);
    }
    for (size_t i = 0; i < sizeof(rig.connection->buffers.kex.deferred); i++) {
        ck_assert_uint_eq(rig.connection->buffers.kex.deferred[i], 0xa5);
    }
}

/* ---- what ------------------------------------------------------------------------------------ */

static size_t count_bytes(const uint8_t *bytes, size_t count, uint8_t value)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += bytes[i] == value;
    }
    return found;
}

static size_t kexinits_left(const struct connection *connection)
{
    return count_bytes(connection->buffers.kex.client_kexinit,
                       sizeof(connection->buffers.kex.client_kexinit), 1) +
           count_bytes(connection->buffers.kex.deferred, sizeof(connection->buffers.kex.deferred),
                       1);
}

static void fill(struct connection *connection)
{
    memset(connection->buffers.kex.client_kexinit, 1,
           sizeof(connection->buffers.kex.client_kexinit));
    memset(connection->buffers.kex.deferred, 1, sizeof(connection->buffers.kex.deferred));
    memset(connection->buffers.input, 2, sizeof(connection->buffers.input));
    memset(connection->buffers.output, 3, sizeof(connection->buffers.output));
}

/* Pages at either end may be shared with something that stays. */
#define BORDERS_BYTES ((size_t)2 * 4096)

TEST_IF(all_goes_where_all_is_empty, !unit_is_emulated())
{
    struct connection *connection = rig.connection;
    fill(connection);
    idle_trim(connection);
    ck_assert_uint_le(
        kexinits_left(connection) +
            count_bytes(connection->buffers.input, sizeof(connection->buffers.input), 2) +
            count_bytes(connection->buffers.output, sizeof(connection->buffers.output), 3),
        BORDERS_BYTES);
}

TEST_EACH(what_is_on_its_way_stays, !unit_is_emulated() ? 3 : 0)
{
    struct connection *connection = rig.connection;
    fill(connection);
    if (_i == 0) {
        connection->input_end = sizeof(connection->buffers.input);
    } else if (_i == 1) { /* packets were handled; a program has not taken their data */
        connection->stdin_batch.channel = &connection->channels[0];
    } else {
        connection->output_end = sizeof(connection->buffers.output);
    }
    idle_trim(connection);
    ck_assert_uint_le(kexinits_left(connection), BORDERS_BYTES);
    if (_i <= 1) {
        ck_assert_uint_eq(
            count_bytes(connection->buffers.input, sizeof(connection->buffers.input), 2),
            sizeof(connection->buffers.input));
    } else {
        ck_assert_uint_eq(
            count_bytes(connection->buffers.output, sizeof(connection->buffers.output), 3),
            sizeof(connection->buffers.output));
    }
}

/* Once after each key exchange; the output, which bulk data fills again, may stay. */
TEST_IF(before_a_bulk_transfer, !unit_is_emulated())
{
    struct connection *connection = rig.connection;
    fill(connection);
    connection->pages.input_touched = sizeof(connection->buffers.input);
    connection->output_end = sizeof(connection->buffers.output);
    idle_trim_before_bulk(connection);
    ck_assert_uint_le(kexinits_left(connection) + count_bytes(connection->buffers.input,
                                                              sizeof(connection->buffers.input), 2),
                      2 * BORDERS_BYTES);
    ck_assert_uint_eq(
        count_bytes(connection->buffers.output, sizeof(connection->buffers.output), 3),
        sizeof(connection->buffers.output));
    fill(connection);
    idle_trim_before_bulk(connection);
    ck_assert_uint_eq(count_bytes(connection->buffers.input, sizeof(connection->buffers.input), 2),
                      sizeof(connection->buffers.input));
}

/* All before the buffers, and the pool after them. */
TEST(what_is_kept_for_the_connection_stays)
{
    static struct connection before;
    struct connection *connection = rig.connection;
    struct pool *pool = &connection->pool;
    const size_t kept = offsetof(struct connection, buffers);
    memset(connection->certificate, 5, sizeof(connection->certificate));
    memset(connection->channels, 6, sizeof(connection->channels));
    memset(connection->kex.session_id, 7, sizeof(connection->kex.session_id));
    pool->in_use = pool->touched = 2;
    memset(pool->chunks[0], 8, sizeof(pool->chunks[0]));
    memcpy(&before, connection, kept);
    idle_trim(connection);
    before.pages.spared_ms = connection->pages.spared_ms;
    ck_assert_int_eq(memcmp(&before, connection, kept), 0);
    ck_assert_uint_eq(pool->in_use, 2);
    ck_assert_uint_eq(count_bytes(pool->chunks[0], sizeof(pool->chunks[0]), 8),
                      sizeof(pool->chunks[0]));
    memset(connection->channels, 0, sizeof(connection->channels));
}
