#include "base.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limit.h"
#include "scratch.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static char path[2 * SCRATCH_BYTES];
static struct banner banner;

static void begin(void)
{
    scratch_make(scratch);
    snprintf(path, sizeof(path), "%s/banner", scratch);
    memset(&banner, 0xff, sizeof(banner));
}

UNIT_FIXTURE(begin, NULL);

static void expect_text(const void *text, size_t bytes)
{
    ck_assert_ptr_null(banner_read(&banner, path));
    ck_assert_uint_eq(banner.bytes, bytes);
    ck_assert_mem_eq(banner.text, text, bytes);
}

static void expect_wrong(const char *reason)
{
    const char *wrong = banner_read(&banner, path);
    ck_assert_ptr_nonnull(wrong);
    assert_contains(wrong, reason);
    ck_assert_uint_eq(banner.bytes, 0);
}

TEST(lines_end_with_cr_lf)
{
    scratch_write(scratch, "banner", "\n\tone\ntwo\n\nend", 14, 0644);
    expect_text("\r\n\tone\r\ntwo\r\n\r\nend", 18);
}

TEST(an_empty_file_is_no_banner)
{
    scratch_write(scratch, "banner", "", 0, 0644);
    expect_text("", 0);
}

/* ---- the size -------------------------------------------------------------------------------- */

TEST(the_longest_text)
{
    static char text[LIMIT_BANNER_BYTES];
    memset(text, 'x', sizeof(text));
    scratch_write(scratch, "banner", text, sizeof(text), 0444);
    expect_text(text, sizeof(text));
}

TEST(the_most_lines)
{
    static char text[2 * LIMIT_BANNER_BYTES];
    memset(text, '\n', LIMIT_BANNER_BYTES);
    scratch_write(scratch, "banner", text, LIMIT_BANNER_BYTES, 0644);
    for (size_t i = 0; i < sizeof(text); i += 2) {
        text[i] = '\r';
        text[i + 1] = '\n';
    }
    expect_text(text, sizeof(text));
}

/* Half a banner could end within a sentence that matters. */
TEST_EACH(one_byte_too_many_is_not_cut_off, 2)
{
    static char text[LIMIT_BANNER_BYTES + 2];
    memset(text, _i == 0 ? 'x' : '\n', sizeof(text));
    scratch_write(scratch, "banner", text, LIMIT_BANNER_BYTES + 1 + (size_t)_i, 0644);
    expect_wrong("larger than " TEXT_OF(LIMIT_BANNER_BYTES) " bytes");
}

/* The last character would be complete with the byte that follows. */
TEST(a_character_cut_off_at_the_limit)
{
    static char text[LIMIT_BANNER_BYTES];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\xc3';
    scratch_write(scratch, "banner", text, sizeof(text), 0644);
    expect_wrong("not UTF-8");
}

/* ---- the characters -------------------------------------------------------------------------- */

static const char *const good[] = {
    " ~",                                       /* U+0020, U+007E */
    "\xc2\xa0\xdf\xbf",                         /* U+00A0, U+07FF */
    "\xe0\xa0\x80\xed\x9f\xbf",                 /* U+0800, U+D7FF */
    "\xee\x80\x80\xef\xbf\xbd",                 /* U+E000, U+FFFD */
    "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",         /* U+10000, U+10FFFF */
    "Gr\xc3\xbc\xc3\x9f Gott \xf0\x9f\x90\xa6", /* with a bird */
};

TEST_EACH(characters, COUNT_OF(good))
{
    scratch_write(scratch, "banner", good[_i], strlen(good[_i]), 0644);
    expect_text(good[_i], strlen(good[_i]));
}

static const struct {
    const char *text;
    size_t bytes;
} bad[] = {
    {"a\0b", 3}, /* NUL */
    {"\0", 1},
    {"a\r\n", 3},   /* a carriage return */
    {"\x1b[2J", 4}, /* clears the screen */
    {"\b", 1},
    {"\x1f", 1},
    {"\x7f", 1},     /* DEL */
    {"\xc2\x80", 2}, /* C1 */
    {"\xc2\x9b"
     "2J",
     4}, /* CSI, as one character */
    {"\xc2\x9f", 2},
    {"\x9b", 1}, /* CSI in Latin-1 */
    {"\x80", 1}, /* bytes that only follow others */
    {"\xbf\xbf\xbf\xbf", 4},
    {"\xc0\x8a", 2}, /* longer than needed */
    {"\xc1\xbf", 2},
    {"\xe0\x9f\xbf", 3},
    {"\xe0\x80\x8a", 3},
    {"\xf0\x8f\xbf\xbf", 4},
    {"\xed\xa0\x80", 3}, /* surrogates */
    {"\xed\xbf\xbf", 3},
    {"\xf4\x90\x80\x80", 4}, /* U+110000 */
    {"\xf5\x80\x80\x80", 4},
    {"\xf8\x88\x80\x80\x80", 5},
    {"\xff", 1},
    {"\xfe\xff\0a", 4}, /* UTF-16 */
    {"\xc3", 1},        /* cut off */
    {"\xe2\x82", 2},
    {"\xf0\x9f\x90", 3},
    {"\xe2\x82"
     "a",
     3},
    {"\xc3\xc3\xbc", 3},
};

TEST_EACH(other_bytes, COUNT_OF(bad))
{
    scratch_write(scratch, "banner", bad[_i].text, bad[_i].bytes, 0644);
    expect_wrong("not UTF-8, or with a control character");
}

/* ---- the file -------------------------------------------------------------------------------- */

TEST(a_missing_file)
{
    expect_wrong("No such file or directory");
}

TEST(a_directory)
{
    snprintf(path, sizeof(path), "%s", scratch);
    expect_wrong("not a regular file");
}

/* An open that waits for a writer would hang each connection. */
TEST(a_fifo)
{
    ck_assert_int_eq(mkfifo(path, 0644), 0);
    expect_wrong("not a regular file");
}

TEST(a_device)
{
    snprintf(path, sizeof(path), "/dev/zero");
    expect_wrong("not a regular file");
}

/* A client would get what a user of the machine may not read. */
TEST_EACH(a_file_that_not_all_may_read, 2)
{
    static const mode_t modes[] = {0640, 0600};
    scratch_write(scratch, "banner", "secret", 6, modes[_i]);
    expect_wrong("not readable by all");
}
