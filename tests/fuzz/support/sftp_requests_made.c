#include "sftp_requests_made.h"

#include <string.h>

#include "sftp.h"
#include "simulation.h"

static uint8_t stream_bytes[600000];
struct fields stream = FIELDS_IN(stream_bytes);

static const char *const paths[] = {"a",
                                    "d",
                                    "d/f",
                                    "d/s/t",
                                    "/",
                                    "..",
                                    "../other/f",
                                    "out",
                                    "out/f",
                                    "rel",
                                    "self",
                                    "to-d/f",
                                    "new",
                                    "name",
                                    "big",
                                    "d/up/a",
                                    "/srv/other/f",
                                    "/etc/passwd",
                                    "n1",
                                    "n2",
                                    "d/n3",
                                    "d/",
                                    "a/",
                                    ".",
                                    "",
                                    "/proc/self/fd/10",
                                    "d/../../..",
                                    "/srv/jail/a",
                                    "d/up/up/../../../../etc",
                                    "~",
                                    "~/x",
                                    "~bob",
                                    "//d//s/./t",
                                    "out/../f",
                                    "fresh",
                                    "/d/up",
                                    "d/s"};

/* ---- making ---------------------------------------------------------------------------------- */

static void put_u32(uint32_t value)
{
    fields_number(&stream, 4, value);
}

/* 255: bytes of the input; 254: a path of the greatest length. */
static void put_path(struct input *input)
{
    static char longest[4096];
    uint8_t which = input_u8(input);
    if (which == 255) {
        const struct input raw = input_take(input, input_u8(input));
        fields_string(&stream, raw.at, raw.left);
    } else if (which == 254) {
        uint8_t shorter = input_u8(input);
        memset(longest, '/', sizeof(longest));
        fields_string(&stream, longest, sizeof(longest) - (shorter & 3));
    } else {
        const char *path = paths[which % (sizeof(paths) / sizeof(paths[0]))];
        fields_text(&stream, path);
    }
}

/* The row in the low bits, the generation above them; 0x80: of a wrong length. */
static void put_handle(struct input *input)
{
    uint8_t which = input_u8(input);
    put_u32((which & 0x80) ? 7 : 8);
    put_u32(which & 7);
    put_u32(1U + (which >> 3 & 7));
    stream.used -= (which & 0x80) && stream.used < stream.room ? 1 : 0;
}

static void put_u64(struct input *input)
{
    uint8_t which = input_u8(input);
    put_u32(which >= 0xf0 ? 0x7fffffffU + (which & 1) : 0);
    put_u32(which >= 0xc0 ? which * 4999U : which);
}

static void put_attributes(struct input *input)
{
    uint8_t flags = input_u8(input);
    uint8_t value = input_u8(input);
    put_u32((flags & 15U) | (flags & 128U ? 0x80000000U : 0) | (flags & 64U ? 0x40 : 0));
    if (flags & SFTP_ATTR_SIZE) {
        put_u32((flags & 32) ? 0xffffffff : 0);
        put_u32(value);
    }
    if (flags & SFTP_ATTR_OWNERS) {
        put_u32(1000);
        put_u32(value == 0 ? 0 : 1000);
    }
    if (flags & SFTP_ATTR_PERMISSIONS) {
        put_u32(value * 0x1001U);
    }
    if (flags & SFTP_ATTR_TIMES) {
        put_u32(value);
        put_u32(value * 0x10001U);
    }
    if (flags & 128) {
        put_u32(value);
        for (int i = 0; i < (value & 3); i++) {
            fields_put(&stream, "ss", "x@y", "z");
        }
    }
}

static const char *const extensions[] = {"posix-rename@openssh.com",
                                         "hardlink@openssh.com",
                                         "statvfs@openssh.com",
                                         "fstatvfs@openssh.com",
                                         "fsync@openssh.com",
                                         "lsetstat@openssh.com",
                                         "limits@openssh.com",
                                         "expand-path@openssh.com",
                                         "copy-data",
                                         "home-directory",
                                         "users-groups-by-id@openssh.com",
                                         "copy-data@openssh.com",
                                         "unknown@example",
                                         "",
                                         "posix-rename@openssh.co",
                                         "home-director"};

static void put_ids(struct input *input)
{
    uint8_t which = input_u8(input);
    size_t list = fields_begin(&stream);
    for (int i = 0; i < (which & 31) * ((which & 64) ? 100 : 1); i++) {
        put_u32((uint32_t)i * 1000);
    }
    fields_bytes(&stream, "xyz", (which & 128) ? 3 : 0);
    fields_end(&stream, list);
}

static void put_extended(struct input *input)
{
    unsigned which = input_u8(input) % (sizeof(extensions) / sizeof(extensions[0]));
    fields_text(&stream, extensions[which]);
    if (which <= 1) {
        put_path(input);
        put_path(input);
    } else if (which == 3 || which == 4) {
        put_handle(input);
    } else if (which == 5) {
        put_path(input);
        put_attributes(input);
    } else if (which == 8 || which == 11) {
        put_handle(input);
        put_u64(input);
        put_u64(input);
        put_handle(input);
        put_u64(input);
    } else if (which == 10) {
        put_ids(input);
        put_ids(input);
    } else if (which != 6) {
        put_path(input);
    }
}

static void put_fields(uint8_t type, struct input *input)
{
    switch (type) {
    case SFTP_OPEN:
        put_path(input);
        put_u32(input_u8(input));
        put_attributes(input);
        break;
    case SFTP_CLOSE:
    case SFTP_FSTAT:
    case SFTP_READDIR:
        put_handle(input);
        break;
    case SFTP_READ:
        put_handle(input);
        put_u64(input);
        put_u32(input_u8(input) * 1100U);
        break;
    case SFTP_WRITE: {
        put_handle(input);
        put_u64(input);
        const struct input data = input_take(input, input_u8(input));
        fields_string(&stream, data.at, data.left);
        break;
    }
    case SFTP_FSETSTAT:
        put_handle(input);
        put_attributes(input);
        break;
    case SFTP_SETSTAT:
    case SFTP_MKDIR:
        put_path(input);
        put_attributes(input);
        break;
    case SFTP_RENAME:
    case SFTP_SYMLINK:
        put_path(input);
        put_path(input);
        break;
    case SFTP_EXTENDED:
        put_extended(input);
        break;
    default:
        put_path(input);
    }
}

/* The type's top bits: 0x40 cuts the request short, 0x20 adds bytes; 0xfd: zeros, 0xfe: a length
 * without a packet; 0xff: bytes of the input. */
static void put_packet(uint8_t op, uint32_t id, struct input *input)
{
    if (op == 0xff) {
        const struct input raw = input_take(input, input_u8(input));
        fields_bytes(&stream, raw.at, raw.left);
        return;
    }
    if (op == 0xfd) {
        fields_fill(&stream, 0, input_u8(input) * 1100U);
        return;
    }
    if (op == 0xfe) {
        put_u32(input_u32(input));
        return;
    }
    uint8_t type = (op & 31) == 31 ? SFTP_EXTENDED : (op & 31);
    size_t packet = fields_begin(&stream);
    fields_put(&stream, "bu", type, type == SFTP_INIT ? 3 : id);
    if (type != SFTP_INIT) {
        put_fields(type, input);
    }
    fields_bytes(&stream, "extra", (op & 0x20) ? 5 : 0);
    size_t short_by = (op & 0x40) ? input_u8(input) : 0;
    size_t body = stream.used - packet - 4;
    stream.used -= short_by < body ? short_by : body - 1;
    fields_end(&stream, packet);
}

void stream_make(struct input input)
{
    stream.used = 0;
    for (uint32_t id = 0x10000; input.left > 0 && stream.used + 8192 < stream.room; id++) {
        put_packet(input_u8(&input), id, &input);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint32_t take_u32(struct input *from)
{
    SIMULATION_CHECK(from->left >= 4);
    return input_u32(from);
}

static struct input take_string(struct input *from)
{
    uint32_t count = take_u32(from);
    SIMULATION_CHECK(count <= from->left);
    return input_take(from, count);
}

static void take_attributes(struct input *from)
{
    uint32_t flags = take_u32(from);
    SIMULATION_CHECK((flags & ~0xfU) == 0);
    size_t bytes = ((flags & 1) ? 8U : 0) + ((flags & 2) ? 8U : 0) + ((flags & 4) ? 4U : 0) +
                   ((flags & 8) ? 8U : 0);
    SIMULATION_CHECK(from->left >= bytes);
    input_take(from, bytes);
}

static bool may_answer(uint8_t request, uint8_t answer)
{
    switch (answer) {
    case SFTP_STATUS:
        return true;
    case SFTP_HANDLE:
        return request == SFTP_OPEN || request == SFTP_OPENDIR;
    case SFTP_DATA:
        return request == SFTP_READ;
    case SFTP_NAME:
        return request == SFTP_READDIR || request == SFTP_REALPATH || request == SFTP_READLINK ||
               request == SFTP_EXTENDED;
    case SFTP_ATTRS:
        return request == SFTP_STAT || request == SFTP_LSTAT || request == SFTP_FSTAT;
    case SFTP_EXTENDED_REPLY:
        return request == SFTP_EXTENDED;
    default:
        return false;
    }
}

static void check_names(struct input *answer, uint8_t request)
{
    uint32_t names = take_u32(answer);
    SIMULATION_CHECK(names > 0 && (names == 1 || request == SFTP_READDIR));
    for (; names > 0; names--) {
        const struct input name = take_string(answer);
        SIMULATION_CHECK(memchr(name.at, '\0', name.left) == NULL);
        SIMULATION_CHECK(request != SFTP_READDIR || memchr(name.at, '/', name.left) == NULL);
        take_string(answer);
        take_attributes(answer);
    }
}

/* The number of bytes that a READ asks for: its last field. */
static uint32_t asked_bytes(const uint8_t *request, size_t bytes)
{
    struct input fields = {request + 5, bytes - 5};
    take_string(&fields);
    input_take(&fields, 8);
    return take_u32(&fields);
}

struct answered answer_check(const uint8_t *bytes, size_t count, const uint8_t *request,
                             size_t request_bytes)
{
    struct input answer = {bytes, count};
    struct answered read = {.type = 0};
    SIMULATION_CHECK(take_u32(&answer) == count - 4 && count - 4 <= 262144);
    read.type = input_u8(&answer);
    SIMULATION_CHECK(may_answer(request[0], read.type));
    SIMULATION_CHECK(memcmp(answer.at, request + 1, 4) == 0);
    input_take(&answer, 4);
    if (read.type == SFTP_STATUS) {
        read.status = take_u32(&answer);
        SIMULATION_CHECK(read.status <= 8);
        take_string(&answer);
        take_string(&answer);
    } else if (read.type == SFTP_HANDLE) {
        const struct input handle = take_string(&answer);
        SIMULATION_CHECK(handle.left == sizeof(read.handle));
        memcpy(read.handle, handle.at, sizeof(read.handle));
    } else if (read.type == SFTP_DATA) {
        SIMULATION_CHECK(take_string(&answer).left <= asked_bytes(request, request_bytes));
    } else if (read.type == SFTP_NAME) {
        check_names(&answer, request[0]);
    } else if (read.type == SFTP_ATTRS) {
        take_attributes(&answer);
    } else {
        input_take(&answer, answer.left);
    }
    SIMULATION_CHECK(answer.left == 0);
    return read;
}
