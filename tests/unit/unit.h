/*
 * What every file of unit tests needs. A test registers itself:
 *
 *     UNIT_FIXTURE(start, finish);          before and after each test
 *     UNIT_TIMEOUT(60);                     seconds for each test, 4 without it
 *
 *     TEST(one_thing)
 *     {
 *         ck_assert(...);
 *     }
 *
 *     TEST_EACH(each_row, COUNT_OF(rows))   once for each _i from 0 to COUNT_OF(rows) - 1
 *     {
 *         ck_assert(rows[_i] ...);
 *     }
 */
#ifndef WREN_UNIT_H
#define WREN_UNIT_H

#include <check.h>
#include <stdbool.h>

/* Check writes the place of each assertion that holds to a file. That is a system call each, and
 * some programs make 300,000 of them. Without it, the report of a crash names the start of the
 * test. */
void unit_no_mark(void);
#define _mark_point(file, line) unit_no_mark()

/* A macro's number as text: signals have other ones on MIPS. */
#define TEXT_OF(macro)       TEXT_OF_DIGITS(macro)
#define TEXT_OF_DIGITS(text) #text

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The test's block follows. */
#define TEST(name)               UNIT_TEST(name, tcase_add_test(unit_case(), name))
#define TEST_IF(name, condition) TEST_EACH(name, (condition) ? 1 : 0)
#define TEST_EACH(name, count)   TEST_RANGE(name, 0, count)
#define TEST_RANGE(name, first, end)                                                               \
    UNIT_TEST(name, tcase_add_loop_test(unit_case(), name, first, end))
/* Such a test ends its process, with this exit status or by this signal. */
#define TEST_EXITS(name, status) UNIT_TEST(name, tcase_add_exit_test(unit_case(), name, status))
#define TEST_EACH_EXITS(name, status, count)                                                       \
    UNIT_TEST(name, tcase_add_loop_exit_test(unit_case(), name, status, 0, count))
#define TEST_KILLED(name, signal)                                                                  \
    UNIT_TEST(name, tcase_add_test_raise_signal(unit_case(), name, signal))

/* These hold for a whole test case, and a semicolon follows. A file is one test case with the
 * file's name, or it has several: each begins with UNIT_CASE(). */
#define UNIT_CASE(name)             UNIT_STEP(unit_begin_case(name))
#define UNIT_FIXTURE(start, finish) UNIT_STEP(tcase_add_checked_fixture(unit_case(), start, finish))
#define UNIT_TIMEOUT(seconds)       UNIT_STEP(tcase_set_timeout(unit_case(), seconds))
/* Without the condition the tests below it are left out, and the program says why. */
#define UNIT_NEEDS(condition, otherwise) UNIT_STEP(unit_need(condition, otherwise))
/* Done once, before the first test. */
#define UNIT_BEFORE(statement) UNIT_STEP(statement)

#define UNIT_TEST(name, adding)                                                                    \
    static const TTest *name;                                                                      \
    UNIT_STEP(adding);                                                                             \
    START_TEST(name)

/* What main() does before it runs the tests, in the order of the lines. */
struct unit_step {
    const char *file;
    int line;
    void (*take)(void);
    struct unit_step *next;
};
#define UNIT_STEP(statement)        UNIT_STEP_AT(statement, __LINE__)
#define UNIT_STEP_AT(statement, at) UNIT_STEP_OF_LINE(statement, at)
#define UNIT_STEP_OF_LINE(statement, at)                                                           \
    static void unit_step_##at(void)                                                               \
    {                                                                                              \
        statement;                                                                                 \
    }                                                                                              \
    __attribute__((constructor)) static void unit_register_##at(void)                              \
    {                                                                                              \
        static struct unit_step step = {__FILE__, at, unit_step_##at, NULL};                       \
        unit_register(&step);                                                                      \
    }                                                                                              \
    _Static_assert(at > 0, "a declaration, as a semicolon follows")

void unit_register(struct unit_step *step);
void unit_begin_case(const char *name);
void unit_need(bool condition, const char *otherwise);
TCase *unit_case(void);

/* True under Meson's exe_wrapper, an emulator of single programs: it is slow, knows not every
 * system call and loses descriptors that are passed beyond what the receiver has room for. */
bool unit_is_emulated(void);

/* Whether the action returns true, in a process of its own, as it can't be undone. */
bool unit_in_a_fork(bool (*action)(void));

/* True in an emulator and in sanitizer builds (tests/unit/meson.build): a test that compares all
 * combinations takes some of them. */
bool unit_is_slow(void);

#endif
