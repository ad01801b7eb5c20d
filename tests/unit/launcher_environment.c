#include "main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static char secret[] = "PASSPHRASE=hunter2";
static char zone[] = "TZ=Europe/Vienna";
static char folder[] = "CREDENTIALS_DIRECTORY=/run/credentials/x";
static char similar[] = "TZX=1";
static char prefixed[] = "XTZ=1";
static char no_value[] = "CREDENTIALS_DIRECTORY";
static char empty[] = "";

static bool is_wiped(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != '\0') {
            return false;
        }
    }
    return true;
}

TEST(all_is_overwritten_and_two_are_kept)
{
    char *handed_over[] = {secret, similar, zone, empty, prefixed, folder, no_value, NULL};
    environ = handed_over;
    launcher_environment_wipe();
    ck_assert(is_wiped(secret, sizeof(secret)));
    ck_assert(is_wiped(similar, sizeof(similar)));
    ck_assert(is_wiped(prefixed, sizeof(prefixed)));
    ck_assert(is_wiped(no_value, sizeof(no_value)));
    ck_assert_str_eq(getenv("TZ"), "Europe/Vienna");
    ck_assert_str_eq(getenv("CREDENTIALS_DIRECTORY"), "/run/credentials/x");
    ck_assert_ptr_null(getenv("PASSPHRASE"));
    size_t count = 0;
    for (char **variable = environ; *variable != NULL; variable++) {
        count++;
    }
    ck_assert_uint_eq(count, 2);
}

/* glibc would look at the file of local time again and again, and the child that reads keys may
 * not. */
TEST(an_empty_one_gets_a_time_zone)
{
    char *handed_over[] = {NULL};
    environ = handed_over;
    launcher_environment_wipe();
    ck_assert_str_eq(getenv("TZ"), ":/etc/localtime");
    ck_assert_ptr_null(environ[1]);
}

/* A launcher may name one twice: there is room for no more than two. */
TEST(repeated_ones_do_not_overflow)
{
    char names[8][32];
    char *handed_over[9] = {NULL};
    for (int i = 0; i < 8; i++) {
        snprintf(names[i], sizeof(names[i]), "TZ=zone %d", i);
        handed_over[i] = names[i];
    }
    environ = handed_over;
    launcher_environment_wipe();
    ck_assert_str_eq(environ[0], "TZ=zone 0");
    ck_assert_str_eq(environ[1], "TZ=zone 1");
    ck_assert_ptr_null(environ[2]);
}

/* What the kernel shows of this process: the memory that the launcher's strings came in. */
TEST(proc_shows_nothing)
{
    char text[4096];
    if (unit_is_emulated()) {
        return; /* the emulator's own environment is seen there */
    }
    FILE *file = popen("tr -d '\\0' </proc/$PPID/environ | wc -c", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%4095s", text), 1);
    pclose(file);
    ck_assert_int_ne(atoi(text), 0);
    launcher_environment_wipe();
    file = fopen("/proc/self/environ", "r");
    ck_assert_ptr_nonnull(file);
    size_t count = fread(text, 1, sizeof(text), file);
    fclose(file);
    ck_assert(is_wiped(text, count));
}
