/* The daemon's side of the status pipe; tests/system/test_listen.py tests the launcher's. Each test
 * runs in a process of its own, as it moves descriptors. */
#include "status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"
#include "limit.h"
#include "unit.h"

static int ends[2];

static void name_descriptor(int fd)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", fd);
    setenv(STATUS_VARIABLE, text, 1);
}

static void set_up(void)
{
    /* Without an ignored SIGPIPE the daemon does not run. */
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    name_descriptor(ends[1]);
}

/* All that the daemon reported, and whether the pipe has ended. */
static bool hear(char said[static 16])
{
    size_t used = 0;
    ssize_t count;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while ((count = read(ends[0], said + used, 15 - used)) > 0) {
        used += (size_t)count;
    }
    said[used] = '\0';
    return count == 0;
}

static void assert_said(const char *wanted, bool ended)
{
    char said[16];
    ck_assert(hear(said) == ended);
    ck_assert_str_eq(said, wanted);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(taken_and_placed)
{
    status_take();
    ck_assert(!is_open(ends[1]));
    status_place();
    ck_assert_int_eq(fcntl(STATUS_DESCRIPTOR, F_GETFD), FD_CLOEXEC);
    ck_assert(fcntl(STATUS_DESCRIPTOR, F_GETFL) & O_NONBLOCK);
    descriptors_close_from(STATUS_DESCRIPTOR + 1 > ends[0] ? STATUS_DESCRIPTOR + 1 : ends[0] + 1);
    assert_said("H", false);
}
END_TEST

/* The pipe may have any number, also that of the host key or of another descriptor of ours. */
START_TEST(at_any_number)
{
    int other = open("/dev/null", O_RDONLY);
    ck_assert_int_ge(dup2(ends[0], 40), 0);
    close(ends[0]);
    ends[0] = 40;
    ck_assert_int_ge(dup2(ends[1], 41), 0);
    close(ends[1]);
    ck_assert_int_ge(dup2(other, STATUS_DESCRIPTOR), 0);
    ck_assert_int_ge(dup2(41, _i), 0);
    close(41);
    name_descriptor(_i);
    status_take();
    status_place();
    status_say(STATUS_LOGGED_IN);
    assert_said("HL", true);
}
END_TEST

START_TEST(nothing_after_the_login)
{
    status_take();
    status_place();
    status_say(STATUS_LOGGED_IN);
    int next = open("/dev/null", O_RDONLY);
    ck_assert_int_ge(dup2(next, STATUS_DESCRIPTOR), 0);
    status_say(STATUS_NOTHING);
    status_end(true, 0, 60);
    status_close();
    ck_assert_msg(is_open(STATUS_DESCRIPTOR), "a descriptor that is no longer ours was closed");
    assert_said("HL", true);
}
END_TEST

static const struct {
    bool refused;
    int64_t elapsed_ms;
    const char *said;
} endings[] = {
    {false, 0, "HN"},     {true, 0, "HR"},     {true, 59000, "HR"},
    {false, 60000, "HD"}, {true, 60000, "HD"}, {false, 60001 - LIMIT_LOGIN_GRACE_MS, "HD"},
};

START_TEST(how_it_ended)
{
    status_take();
    status_place();
    status_end(endings[_i].refused, endings[_i].elapsed_ms, 60);
    assert_said(endings[_i].said, true);
}
END_TEST

START_TEST(never_waits)
{
    char byte = 'x';
    int flags = fcntl(ends[1], F_GETFL);
    fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
    while (write(ends[1], &byte, 1) == 1) {
    }
    fcntl(ends[1], F_SETFL, flags);
    alarm(20);
    status_take();
    status_place();
    status_say(STATUS_NOTHING);
    close(ends[0]);
    status_say(STATUS_NOTHING);
    status_end(false, 0, 60);
}
END_TEST

/* Descriptors 0 to 2 are the connection and the log, whatever they are. */
START_TEST(standard_descriptors_stay)
{
    dup2(ends[1], _i);
    name_descriptor(_i);
    status_take();
    status_place();
    ck_assert(is_open(_i));
    close(ends[1]);
    close(_i);
    assert_said("", true);
}
END_TEST

static const char *const none[] = {"",   "-1",  "x",       "3x", "99",
                                   "+3", " 3 ", "3000000", "",   "4294967299"};

START_TEST(what_is_no_descriptor)
{
    setenv(STATUS_VARIABLE, none[_i], 1);
    status_take();
    status_place();
    status_say(STATUS_LOGGED_IN);
    ck_assert(is_open(ends[0]) && is_open(ends[1]));
    assert_said("", false);
}
END_TEST

START_TEST(what_is_no_pipe_to_write_to)
{
    int pair[2];
    char byte;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    char ours[32];
    snprintf(ours, sizeof(ours), "/proc/self/fd/%d", ends[1]);
    const int wrong[] = {ends[0], pair[0], open("/dev/null", O_WRONLY), open("/", O_RDONLY),
                         open(ours, O_RDWR)};
    int given = fcntl(wrong[_i], F_DUPFD, STATUS_DESCRIPTOR + 1);
    name_descriptor(given);
    status_take();
    status_place();
    status_say(STATUS_LOGGED_IN);
    ck_assert(is_open(given));
    ck_assert_int_eq(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1);
}
END_TEST

START_TEST(without_the_variable)
{
    unsetenv(STATUS_VARIABLE);
    int next = open("/dev/null", O_RDONLY);
    dup2(next, STATUS_DESCRIPTOR);
    status_take();
    status_place();
    ck_assert_msg(!is_open(STATUS_DESCRIPTOR), "what the launcher has left there stays open");
    status_say(STATUS_LOGGED_IN);
    status_end(false, 0, 60);
}
END_TEST

/* The others of the connection must not keep the pipe open. */
START_TEST(closed)
{
    status_take();
    status_place();
    status_close();
    assert_said("H", true);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *unit_suite(void)
{
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, taken_and_placed);
    tcase_add_loop_test(tests, at_any_number, STATUS_DESCRIPTOR - 1, STATUS_DESCRIPTOR + 4);
    tcase_add_test(tests, nothing_after_the_login);
    tcase_add_loop_test(tests, how_it_ended, 0, COUNT(endings));
    tcase_add_test(tests, never_waits);
    tcase_add_loop_test(tests, standard_descriptors_stay, 0, 3);
    tcase_add_loop_test(tests, what_is_no_descriptor, 0, COUNT(none));
    tcase_add_loop_test(tests, what_is_no_pipe_to_write_to, 0, 5);
    tcase_add_test(tests, without_the_variable);
    tcase_add_test(tests, closed);
    suite_add_tcase(suite, tests);
    return suite;
}
