#include "log.h"

#include "priv_help.h"
#include "unit.h"

/* Writes one line with one field and returns what came out, without the prefix. */
static const char *field(const char *key, const void *value, size_t value_bytes)
{
    static char out[4096];
    struct capture capture;
    struct log_line line;
    capture_begin(&capture);
    log_begin(&line, "test");
    log_bytes(&line, key, value, value_bytes);
    log_end(&line, LOG_EVENT);
    size_t count = capture_end(&capture, out, sizeof(out));
    ck_assert_uint_gt(count, 0);
    ck_assert_int_eq(out[count - 1], '\n');
    out[count - 1] = '\0';
    ck_assert_ptr_null(strchr(out, '\n'));
    const char *start = strstr(out, "]: event=test");
    ck_assert_ptr_nonnull(start);
    return start + strlen("]: event=test");
}

START_TEST(one_line_as_documented)
{
    char out[1024], expected[256];
    struct capture capture;
    struct log_line line;
    log_peer("192.0.2.1", "4711");
    capture_begin(&capture);
    log_begin(&line, "login");
    log_text(&line, "user", "bob");
    log_number(&line, "line", 3);
    log_number(&line, "most", UINT64_MAX);
    log_octal(&line, "mode", 0664);
    log_octal(&line, "mode", 01777);
    log_octal(&line, "mode", 0);
    log_octal(&line, "mode", 0xffffffffU);
    log_end(&line, LOG_EVENT);
    capture_end(&capture, out, sizeof(out));
    snprintf(expected, sizeof(expected),
             "wrensshd[%d]: event=login from=192.0.2.1 port=4711 user=bob line=3 "
             "most=18446744073709551615 mode=0664 mode=1777 mode=0000 mode=37777777777\n",
             (int)getpid());
    ck_assert_str_eq(out, expected);
}
END_TEST

static const struct {
    const char *value;
    const char *shown;
} shown[] = {
    {"plain", " k=plain"},
    {"/a/b-c_d.e:f@g+h,i%j", " k=/a/b-c_d.e:f@g+h,i%j"},
    {"", " k=\"\""},
    {"two words", " k=\"two words\""},
    {"a=b", " k=\"a=b\""},
    {"say \"hi\"", " k=\"say \\x22hi\\x22\""},
    {"back\\slash", " k=\"back\\x5cslash\""},
    {"x\nwrensshd[1]: event=login verdict=accepted",
     " k=\"x\\x0awrensshd[1]: event=login verdict=accepted\""},
    {"\x1b[2J\x07", " k=\"\\x1b[2J\\x07\""},
    {"caf\xc3\xa9", " k=\"caf\\xc3\\xa9\""},
    {"%n%s", " k=%n%s"},
    {"\x7f\r\t", " k=\"\\x7f\\x0d\\x09\""},
};

START_TEST(values_are_escaped)
{
    ck_assert_str_eq(field("k", shown[_i].value, strlen(shown[_i].value)), shown[_i].shown);
}
END_TEST

START_TEST(a_nul_does_not_end_a_value)
{
    ck_assert_str_eq(field("k", "a\0b", 3), " k=\"a\\x00b\"");
}
END_TEST

START_TEST(every_byte_comes_out_printable)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char value = (unsigned char)byte;
        for (const char *at = field("k", &value, 1); *at != '\0'; at++) {
            ck_assert(*at >= 0x20 && *at < 0x7f);
        }
    }
}
END_TEST

START_TEST(long_values_are_cut_and_leave_room)
{
    char out[4096], value[5000];
    struct capture capture;
    struct log_line line;
    memset(value, '\x01', sizeof(value));
    capture_begin(&capture);
    log_begin(&line, "login");
    log_bytes(&line, "user", value, sizeof(value));
    log_bytes(&line, "type", value, sizeof(value));
    log_bytes(&line, "path", value, sizeof(value));
    log_text(&line, "reason", "unknown user");
    log_end(&line, LOG_EVENT);
    size_t count = capture_end(&capture, out, sizeof(out));
    assert_contains(out, "\\x01...\" type=\"\\x01");
    assert_contains(out, " reason=\"unknown user\"\n");
    ck_assert_uint_le(count, LOG_LINE_BYTES + 64);

    memset(value, 'a', sizeof(value));
    const char *cut = field("k", value, LOG_VALUE_BYTES + 1);
    ck_assert_uint_eq(strlen(cut), strlen(" k=") + LOG_VALUE_BYTES);
    assert_contains(cut, "aaa...");
    assert_lacks(field("k", value, LOG_VALUE_BYTES), "...");
}
END_TEST

START_TEST(lines_never_overrun)
{
    char out[4096];
    struct capture capture;
    struct {
        struct log_line line;
        char guard[64];
    } guarded;
    memset(&guarded, 0x5a, sizeof(guarded));
    capture_begin(&capture);
    log_begin(&guarded.line, "flood");
    for (int i = 0; i < 500; i++) {
        log_text(&guarded.line, "key", "a value of some bytes\x80");
        log_number(&guarded.line, "number", (uint64_t)i);
    }
    ck_assert_uint_lt(guarded.line.used, LOG_LINE_BYTES);
    log_end(&guarded.line, LOG_EVENT);
    size_t count = capture_end(&capture, out, sizeof(out));
    ck_assert_int_eq(out[count - 1], '\n');
    for (size_t i = 0; i < sizeof(guarded.guard); i++) {
        ck_assert_int_eq(guarded.guard[i], 0x5a);
    }
}
END_TEST

START_TEST(levels_are_kept)
{
    static const enum log_level levels[] = {LOG_TROUBLE, LOG_EVENT, LOG_DETAIL, LOG_TRACE};
    for (size_t set = 0; set < 4; set++) {
        for (size_t level = 0; level < 4; level++) {
            char out[512];
            struct capture capture;
            struct log_line line;
            log_open(false, levels[set]);
            ck_assert_int_eq(log_shows(levels[level]), level <= set);
            capture_begin(&capture);
            log_begin(&line, "test");
            log_end(&line, levels[level]);
            ck_assert_int_eq(capture_end(&capture, out, sizeof(out)) > 0, level <= set);
        }
    }
}
END_TEST

START_TEST(trouble_names_path_and_reason)
{
    char out[1024];
    struct capture capture;
    log_open(false, LOG_TROUBLE);
    log_name("wrensshd-makekey");
    capture_begin(&capture);
    log_trouble("host key", "/etc/wren ssh", "not 64 bytes long");
    log_trouble("fork", NULL, NULL);
    capture_end(&capture, out, sizeof(out));
    assert_contains(out, "wrensshd-makekey[");
    assert_contains(out, "]: event=trouble what=\"host key\" path=\"/etc/wren ssh\" "
                         "reason=\"not 64 bytes long\"\n");
    assert_contains(out, "]: event=trouble what=fork\n");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_add_test(tests, one_line_as_documented);
    tcase_add_loop_test(tests, values_are_escaped, 0, sizeof(shown) / sizeof(shown[0]));
    tcase_add_test(tests, a_nul_does_not_end_a_value);
    tcase_add_test(tests, every_byte_comes_out_printable);
    tcase_add_test(tests, long_values_are_cut_and_leave_room);
    tcase_add_test(tests, lines_never_overrun);
    tcase_add_test(tests, levels_are_kept);
    tcase_add_test(tests, trouble_names_path_and_reason);
    suite_add_tcase(suite, tests);
    return suite;
}
