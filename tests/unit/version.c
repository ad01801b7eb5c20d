#include "net.h"
#include "transport.h"

#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "unit.h"

static struct rig rig;

static void start(void)
{
    rig_open(&rig, SSH_PHASE_VERSION);
}

UNIT_FIXTURE(start, NULL);

static bool arrives(const void *bytes, size_t count)
{
    struct connection *connection = rig.connection;
    memcpy(connection->buffers.input + connection->input_end, bytes, count);
    connection->input_end += count;
    return version_read(connection);
}

TEST(ours_goes_out)
{
    static const char ours[] = "SSH-2.0-wrenssh_" WREN_VERSION "\r\n";
    version_send(rig.connection);
    ck_assert_uint_eq(rig.connection->output_end, sizeof(ours) - 1);
    ck_assert_mem_eq(rig.connection->buffers.output, ours, sizeof(ours) - 1);
    ck_assert_str_eq(SSH_SERVER_VERSION "\r\n", ours);
}

/* A line, and V_C as it enters the exchange hash. */
static const struct accepted {
    const char *line, *version;
} accepted[] = {
    {"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2\r\n", "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2"},
    {"SSH-2.0-PuTTY\n", "SSH-2.0-PuTTY"},
    {"SSH-1.99-old but able\r\n", "SSH-1.99-old but able"},
    {"SSH-2.0-\r\n", "SSH-2.0-"},
    {"SSH-2.0-x\ry\r\n", "SSH-2.0-x\ry"},
    {"SSH-2.0-x\r\r\n", "SSH-2.0-x\r"},
    {"SSH-2.0-\xff\x01\r\n", "SSH-2.0-\xff\x01"},
};

static void expect_version(const char *version)
{
    rig_expect_alive(&rig, SSH_PHASE_VERSION);
    ck_assert_str_eq(rig.connection->client_version, version);
    ck_assert_uint_eq(rig.connection->client_version_bytes, strlen(version));
}

TEST_EACH(accepted_lines, COUNT_OF(accepted))
{
    const struct accepted *line = &accepted[_i];
    ck_assert(arrives(line->line, strlen(line->line)));
    expect_version(line->version);
    ck_assert_uint_eq(rig.connection->input_start, rig.connection->input_end);
}

TEST_EACH(accepted_byte_by_byte, COUNT_OF(accepted))
{
    const struct accepted *line = &accepted[_i];
    for (size_t i = 0; i < strlen(line->line); i++) {
        ck_assert_int_eq(arrives(line->line + i, 1), line->line[i] == '\n');
        rig_expect_alive(&rig, SSH_PHASE_VERSION);
    }
    expect_version(line->version);
}

TEST(what_follows_stays_in_the_input)
{
    ck_assert(arrives("SSH-2.0-x\r\n\0\0\1\2rest", 19));
    expect_version("SSH-2.0-x");
    ck_assert_uint_eq(rig.connection->input_start, 11);
    ck_assert_uint_eq(rig.connection->input_end, 19);
}

static const struct refused {
    const char *line;
    size_t bytes;
    const char *reason;
    size_t told_after; /* as soon as this many bytes are in */
} refused[] = {
    {"GET / HTTP/1.1\r\n", 16, "does not speak SSH: its first line begins with \"G", 1},
    {"\r\nSSH-2.0-x\r\n", 13, "does not speak SSH:", 1},
    {"hello\r\nSSH-2.0-x\r\n", 18, "does not speak SSH:", 1},
    {"ssh-2.0-x\r\n", 11, "does not speak SSH:", 1},
    {"SSX-2.0-x\r\n", 11, "does not speak SSH:", 3},
    {"\0SH-2.0-x\r\n", 11, "does not speak SSH:", 1},
    {"\x16\x03\x01\x02\x00\x01", 6, "does not speak SSH:", 1},
    {"SSH-1.5-ancient\r\n", 17, "does not speak SSH 2.0: its first line begins with \"SSH-1.5-",
     17},
    {"SSH-2.1-x\r\n", 11, "does not speak SSH 2.0", 11},
    {"SSH-2.0\r\n", 9, "does not speak SSH 2.0", 9},
    {"SSH-1.9-x\r\n", 11, "does not speak SSH 2.0", 11},
    {"SSH-\n", 5, "does not speak SSH 2.0", 5},
    {"SSH-2.0-x\0y\r\n", 13, "holds a NUL", 13},
    {"SSH-2.0-\0\r\n", 11, "holds a NUL", 11},
};

TEST_EACH(refused_lines, COUNT_OF(refused))
{
    const struct refused *line = &refused[_i];
    ck_assert(!arrives(line->line, line->bytes));
    rig_expect_left(&rig, line->reason);
}

TEST_EACH(refused_as_soon_as_it_shows, COUNT_OF(refused))
{
    const struct refused *line = &refused[_i];
    for (size_t i = 0; i < line->told_after; i++) {
        rig_expect_alive(&rig, SSH_PHASE_VERSION);
        ck_assert(!arrives(line->line + i, 1));
    }
    ck_assert(rig.connection->end.reached);
}

/* The line has at most 255 bytes, its end included. */
static void long_line(size_t count, const char *end)
{
    char line[300] = "SSH-2.0-";
    memset(line + 8, 'x', sizeof(line) - 8);
    memcpy(line + count - strlen(end), end, strlen(end));
    for (size_t i = 0; i + 1 < count && !rig.connection->end.reached; i++) {
        ck_assert(!arrives(line + i, 1));
    }
    if (rig.connection->end.reached) {
        rig_expect_left(&rig, "longer than 255 bytes");
        ck_assert_uint_gt(count, 255);
        return;
    }
    ck_assert(arrives(line + count - 1, 1));
    ck_assert_uint_eq(rig.connection->client_version_bytes, count - strlen(end));
    ck_assert_uint_le(count, 255);
}

TEST_EACH(the_longest_line, 6)
{
    long_line(254 + (size_t)_i / 2, (_i & 1) != 0 ? "\r\n" : "\n");
    rig_reset(&rig, SSH_PHASE_VERSION);
    /* The same at once. */
    char line[300] = "SSH-2.0-";
    size_t count = 254 + (size_t)_i / 2;
    memset(line + 8, 'x', sizeof(line) - 8);
    line[count - 1] = '\n';
    ck_assert_int_eq(arrives(line, count), count <= 255);
}

/* The log truncates what a client has sent. */
TEST(the_reason_shows_no_more_than_a_line)
{
    char junk[600];
    memset(junk, 'A', sizeof(junk));
    ck_assert(!arrives(junk, sizeof(junk)));
    rig_expect_left(&rig, "\"AAAAAAAA");
    ck_assert_uint_lt(strlen(rig.connection->end.reason), 130);
    rig_reset(&rig, SSH_PHASE_VERSION);
    ck_assert(!arrives("GET / HTTP/1.0\r\nevent=forged", 28));
    ck_assert_str_eq(
        rig.connection->end.reason,
        "the client does not speak SSH: its first line begins with \"GET / HTTP/1.0\"");
}

static const struct {
    const char *version;
    bool openssh;
} makers[] = {
    {"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2", true},
    {"SSH-2.0-OpenSSH", true},
    {"SSH-2.0-OpenSS", false},
    {"SSH-1.99-OpenSSH_3.0", false},
    {"SSH-2.0-SSHJ_0.38.0", false},
    {"SSH-2.0-dropbear_OpenSSH", false},
    {"SSH-2.0-openssh_9", false},
};

TEST_EACH(openssh_is_known_by_its_name, COUNT_OF(makers))
{
    char line[LIMIT_VERSION_LINE_BYTES];
    ck_assert(!version_is_openssh(rig.connection));
    int count = snprintf(line, sizeof(line), "%s\r\n", makers[_i].version);
    ck_assert(arrives(line, (size_t)count));
    ck_assert_int_eq(version_is_openssh(rig.connection), makers[_i].openssh);
}
