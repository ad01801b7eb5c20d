/* sftp/attributes.c: ATTRS on the wire. */
#include "sftp.h"

#include <string.h>

#include "unit.h"

static uint8_t bytes[256];
static struct writer writer;

static struct reader written(void)
{
    return reader_over(bytes, writer.used);
}

TEST(each_field_is_read)
{
    writer_init(&writer, bytes, sizeof(bytes));
    writer_u32(&writer, 0x8000000f);
    writer_u32(&writer, 1);
    writer_u32(&writer, 2);
    for (uint32_t i = 3; i < 8; i++) {
        writer_u32(&writer, i == 5 ? 0107777 : i);
    }
    writer_u32(&writer, 1);
    writer_text(&writer, "a@b");
    writer_text(&writer, "c");
    struct reader message = written();
    struct attributes read = attributes_read(&message);
    ck_assert(reader_end(&message));
    ck_assert_uint_eq(read.size, 1ULL << 32 | 2);
    ck_assert_uint_eq(read.uid, 3);
    ck_assert_uint_eq(read.gid, 4);
    ck_assert_uint_eq(read.permissions, 07777);
    ck_assert_uint_eq(read.accessed, 6);
    ck_assert_uint_eq(read.modified, 7);
}

TEST(mode_of_a_new_file)
{
    struct attributes wanted = {.flags = SFTP_ATTR_PERMISSIONS, .permissions = 0600};
    ck_assert_uint_eq(attributes_mode(&wanted, 0666), 0600);
    wanted.flags = SFTP_ATTR_SIZE;
    ck_assert_uint_eq(attributes_mode(&wanted, 0666), 0666);
}

/* The number of pairs has no limit of its own: the packet ends first. */
TEST_EACH(count_of_extended_pairs_beyond_the_packet, 5)
{
    static const uint32_t counts[] = {1, 2, 1000, 0x7fffffff, 0xffffffff};
    writer_init(&writer, bytes, sizeof(bytes));
    writer_u32(&writer, SFTP_ATTR_EXTENDED);
    writer_u32(&writer, counts[_i]);
    writer_text(&writer, "only");
    struct reader message = written();
    attributes_read(&message);
    ck_assert(message.failed);
}

TEST(what_is_written_can_be_read)
{
    const struct stat status = {.st_mode = S_IFREG | 0640,
                                .st_uid = 7,
                                .st_gid = 8,
                                .st_size = 1LL << 40,
                                .st_atime = 9,
                                .st_mtime = 10};
    writer_init(&writer, bytes, sizeof(bytes));
    attributes_write(&writer, &status);
    struct reader message = written();
    struct attributes read = attributes_read(&message);
    ck_assert(reader_end(&message));
    ck_assert_uint_eq(read.flags, 15);
    ck_assert_uint_eq(read.size, 1ULL << 40);
    ck_assert_uint_eq(read.uid, 7);
    ck_assert_uint_eq(read.gid, 8);
    ck_assert_uint_eq(read.permissions, 0640);
    ck_assert_uint_eq(read.accessed, 9);
    ck_assert_uint_eq(read.modified, 10);
}
