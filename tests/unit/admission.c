/* Covers admission.c: processes that hold places in a table, as root in a /run of their own and as
 * an ordinary user. tests/system/test_places.py has the files that are no table. */
#include "admission.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sodium.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "clock.h"
#include "scratch.h"
#include "unit.h"

enum who { ROOT, USER };

#define LIMIT ((size_t)LIMIT_PLACES_LEAST)

static char folder[SCRATCH_BYTES];
static char path[SCRATCH_BYTES + 32];
static char said[16384];
static struct capture capture;

/* ---- the fixture ----------------------------------------------------------------------------- */

/* A table with the fewest places. */
static void make_table(void)
{
    static struct places_file file;
    memset(&file, 0, sizeof(file));
    places_make(&file.front, 0);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
    close(fd);
}

/* False if this user can't have a folder of its own for the table: then there is nothing to test.
 */
static bool begin(enum who who)
{
    ck_assert_int_ge(sodium_init(), 0);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    if (who == ROOT) {
        snprintf(path, sizeof(path), "/run/wrensshd.places");
        if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "/run", "tmpfs", 0, "size=64k,mode=755") != 0) {
            return false;
        }
    } else {
        snprintf(path, sizeof(path), "%s/wrensshd.places", folder);
        ck_assert(geteuid() != 0 ||
                  (chown(folder, 65534, 65534) == 0 && setresgid(65534, 65534, 65534) == 0 &&
                   setresuid(65534, 65534, 65534) == 0));
    }
    make_table();
    capture_begin(&capture);
    return true;
}

static void end(void)
{
    capture_end(&capture, said, sizeof(said));
}

static void make_folder(void)
{
    scratch_make(folder);
}

static void remove_folder(void)
{
    scratch_remove(folder);
}

/* ---- holders --------------------------------------------------------------------------------- */

enum order { EXCHANGE, LEAVE, FAIL, EXIT };

/* A process that has called admission_enter(), and does as it is told. */
struct holder {
    pid_t pid;
    int orders, answers;
    bool admitted, has_table;
    size_t place;
};

static struct peer peer_at(const char *address)
{
    struct peer peer = {.has_ip = true};
    snprintf(peer.address, sizeof(peer.address), "%s", address);
    return peer;
}

__attribute__((noreturn)) static void obey(struct holder *holder, const char *address, int orders,
                                           int answers)
{
    const struct peer peer = peer_at(address);
    struct admission admission;
    uint8_t order;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a stopped one would stay when the test fails */
    signal(ADMISSION_SIGNAL, SIG_DFL);
    holder->admitted = admission_enter(&admission, &peer);
    holder->has_table = admission.fd >= 0;
    holder->place = admission.place;
    if (write(answers, holder, sizeof(*holder)) != sizeof(*holder)) {
        _exit(99);
    }
    while (read(orders, &order, 1) == 1 && order != EXIT) {
        if (order == EXCHANGE) {
            admission_note_exchange(&admission);
        } else if (order == LEAVE) {
            admission_leave(&admission);
        } else {
            admission_fail(&admission, LIMIT_DEBT_DEADLINE_MS);
        }
        if (write(answers, &order, 1) != 1) {
            _exit(98);
        }
    }
    _exit(0);
}

static struct holder enter(const char *address)
{
    struct holder holder = {.pid = -1}, told;
    int orders[2], answers[2];
    struct pollfd waiting = {.events = POLLIN};
    ck_assert_int_eq(pipe2(orders, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(answers, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(orders[1]);
        close(answers[0]);
        obey(&holder, address, orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    waiting.fd = answers[0];
    ck_assert_int_eq(poll(&waiting, 1, 20000), 1);
    ck_assert_int_eq(read(answers[0], &told, sizeof(told)), sizeof(told));
    told.pid = pid;
    told.orders = orders[1];
    told.answers = answers[0];
    return told;
}

static void tell(const struct holder *holder, enum order order)
{
    uint8_t byte = (uint8_t)order;
    ck_assert_int_eq(write(holder->orders, &byte, 1), 1);
    ck_assert(order == EXIT || read(holder->answers, &byte, 1) == 1);
}

/* Waits for its end, by exit or by this signal. */
static void assert_ended(const struct holder *holder, int by_signal)
{
    int status;
    ck_assert_int_eq(waitpid(holder->pid, &status, 0), holder->pid);
    ck_assert_int_eq(WIFSIGNALED(status) ? WTERMSIG(status) : 0, by_signal);
    close(holder->orders);
    close(holder->answers);
}

static void let_go(const struct holder *holder)
{
    tell(holder, EXIT);
    assert_ended(holder, 0);
}

static void stop(const struct holder *holder)
{
    ck_assert_int_eq(kill(holder->pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(holder->pid, NULL, WUNTRACED), holder->pid);
}

static bool is_alive(const struct holder *holder)
{
    return waitpid(holder->pid, NULL, WNOHANG) == 0;
}

/* From sources that are no group. */
static struct holder enter_from(size_t source)
{
    char address[32];
    snprintf(address, sizeof(address), "10.%zu.1.1", source);
    return enter(address);
}

/* All places, each from another source; the first has waited for the longest time. */
static void fill(struct holder holders[static LIMIT])
{
    for (size_t i = 0; i < LIMIT; i++) {
        holders[i] = enter_from(i);
        ck_assert(holders[i].admitted && holders[i].has_table);
        ck_assert_uint_lt(holders[i].place, LIMIT);
        usleep(2000);
    }
}

static size_t alive(struct holder holders[static LIMIT])
{
    size_t count = 0;
    for (size_t i = 0; i < LIMIT; i++) {
        count += is_alive(&holders[i]);
    }
    return count;
}

static void read_table(struct places_file *file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(read(fd, file, sizeof(*file)), sizeof(*file));
    close(fd);
}

/* As in libc, but another connection comes first. */
static bool another_comes;

int link(const char *from, const char *to)
{
    bool now = another_comes;
    another_comes = false;
    if (now) {
        enter_from(2);
    }
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* The system calls by which a process is asked to end. */
static int fail_pidfds;
static bool fail_kill;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d);

long __wrap_syscall(long number, long a, long b, long c, long d)
{
    if (fail_pidfds != 0) {
        errno = fail_pidfds;
        return -1;
    }
    return __real_syscall(number, a, b, c, d);
}

int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);

int __wrap_kill(pid_t pid, int signal)
{
    if (fail_kill && signal == ADMISSION_SIGNAL) {
        errno = EPERM;
        return -1;
    }
    return __real_kill(pid, signal);
}

/* ---- places ---------------------------------------------------------------------------------- */

START_TEST(each_has_its_own_place)
{
    struct holder holders[LIMIT];
    bool seen[LIMIT] = {false};
    if (!begin((enum who)_i)) {
        return;
    }
    fill(holders);
    for (size_t i = 0; i < LIMIT; i++) {
        ck_assert(!seen[holders[i].place]);
        seen[holders[i].place] = true;
    }
    /* A place is free again when its holder exits, is killed or has logged in. */
    let_go(&holders[2]);
    ck_assert_int_eq(kill(holders[4].pid, SIGKILL), 0);
    assert_ended(&holders[4], SIGKILL);
    tell(&holders[6], LEAVE);
    for (int i = 0; i < 3; i++) {
        const struct holder next = enter_from(100 + (size_t)i);
        ck_assert_uint_lt(next.place, LIMIT);
        ck_assert(next.place == holders[2].place || next.place == holders[4].place ||
                  next.place == holders[6].place);
    }
    ck_assert(is_alive(&holders[0]) && is_alive(&holders[6]));
    end();
    assert_lacks(said, "event=");
}
END_TEST

START_TEST(the_first_connection_makes_the_table)
{
    struct stat found;
    struct places_file file;
    if (!begin((enum who)_i)) {
        return;
    }
    unlink(path);
    const struct holder first = enter_from(1), second = enter_from(2);
    ck_assert(first.has_table && second.has_table && first.place != second.place);
    ck_assert_int_eq(stat(path, &found), 0);
    ck_assert_uint_eq(found.st_mode, S_IFREG | 0600);
    read_table(&file);
    ck_assert(places_are_ours(&file.front));
    ck_assert_uint_eq(file.places[second.place].phase, PLACE_STARTED);
    end();
    assert_lacks(said, "event=");
}
END_TEST

/* A table that one connection makes and another replaces would hide the first one's place. */
START_TEST(two_make_the_table_at_once)
{
    struct places_file file;
    size_t counted = 0;
    if (!begin((enum who)_i)) {
        return;
    }
    unlink(path);
    another_comes = true; /* in the first one's link() */
    const struct holder first = enter_from(1);
    ck_assert(first.has_table);
    read_table(&file);
    for (size_t i = 0; i < 2 * LIMIT_PLACES; i++) {
        counted += file.places[i].phase == PLACE_STARTED;
    }
    ck_assert_uint_eq(counted, 2);
    end();
    assert_lacks(said, "event=");
}
END_TEST

/* The newcomer has its place before the evicted process has ended, and evicts one only. */
START_TEST(a_full_table)
{
    struct holder holders[LIMIT];
    if (!begin((enum who)_i)) {
        return;
    }
    fill(holders);
    tell(&holders[0], EXCHANGE);
    for (size_t i = 1; i < LIMIT; i++) {
        stop(&holders[i]); /* they take their time */
    }
    const struct holder newcomer = enter_from(100);
    ck_assert(newcomer.admitted && newcomer.has_table);
    ck_assert_uint_ge(newcomer.place, LIMIT);
    ck_assert_uint_eq(alive(holders), LIMIT);
    const struct holder next = enter_from(101);
    ck_assert(next.admitted && next.place != newcomer.place);
    for (size_t i = 1; i < LIMIT; i++) {
        kill(holders[i].pid, SIGCONT);
    }
    assert_ended(&holders[1], ADMISSION_SIGNAL); /* the oldest silent ones */
    assert_ended(&holders[2], ADMISSION_SIGNAL);
    for (size_t i = 0; i < LIMIT; i++) {
        ck_assert(i == 1 || i == 2 || is_alive(&holders[i]));
    }
    ck_assert(is_alive(&newcomer) && is_alive(&next));
    end();
    assert_contains(said, "event=eviction places=8\n");
    ck_assert_ptr_null(strstr(strstr(said, "eviction") + 1, "eviction"));
}
END_TEST

/* One who has come while others were evicted keeps its place when these have gone. Then there is
 * room: newcomers evict nobody, however long it stays. */
START_TEST(room_again)
{
    struct holder holders[LIMIT];
    if (!begin((enum who)_i)) {
        return;
    }
    fill(holders);
    const struct holder late = enter_from(100);
    ck_assert_uint_ge(late.place, LIMIT);
    assert_ended(&holders[0], ADMISSION_SIGNAL);
    for (size_t i = 2; i < LIMIT; i++) {
        let_go(&holders[i]);
    }
    const struct holder next = enter_from(101), last = enter_from(102);
    usleep(100000);
    ck_assert(is_alive(&holders[1]) && is_alive(&late) && is_alive(&next) && is_alive(&last));
    end();
}
END_TEST

/* Newcomers have as many places again: then nobody that was asked has ended. */
START_TEST(nobody_ends)
{
    struct holder holders[LIMIT];
    if (!begin((enum who)_i)) {
        return;
    }
    fill(holders);
    for (size_t i = 0; i < LIMIT; i++) {
        stop(&holders[i]);
    }
    for (size_t i = 0; i < LIMIT; i++) {
        const struct holder newcomer = enter_from(100 + i);
        ck_assert(newcomer.admitted);
        stop(&newcomer);
    }
    ck_assert(!enter_from(200).admitted);
    end();
    assert_contains(said, "event=refused reason=\"no place\" others=0\n");
}
END_TEST

/* What the table says of a process counts for nothing: only a lock names a holder. */
START_TEST(who_holds_no_place_gets_no_signal)
{
    struct holder holders[LIMIT];
    struct places_file file;
    if (!begin((enum who)_i)) {
        return;
    }
    const struct holder left = enter_from(99);
    tell(&left, LEAVE);
    fill(holders);
    read_table(&file);
    for (size_t i = LIMIT; i < 2 * LIMIT; i++) { /* taken for longer than all, as it says */
        file.places[i] =
            (struct place){.started_ms = 1, .phase = PLACE_STARTED, .holder = (int32_t)left.pid};
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
    close(fd);
    const struct holder newcomer = enter_from(100);
    ck_assert(newcomer.admitted);
    assert_ended(&holders[0], ADMISSION_SIGNAL);
    for (size_t i = 1; i < LIMIT; i++) {
        ck_assert(is_alive(&holders[i]));
    }
    ck_assert(is_alive(&left));
    end();
}
END_TEST

/* What asks an old kernel, or one whose filter forbids calls that it does not know; in the last two
 * cases nobody can be asked: then the records stay as they were. */
START_TEST(eviction_without_pidfds)
{
    static const int errors[] = {ENOSYS, EPERM, ENOMEM, EPERM};
    struct holder holders[LIMIT];
    struct places_file file;
    if (!begin(USER)) {
        return;
    }
    fill(holders);
    fail_pidfds = errors[_i];
    fail_kill = _i >= 2;
    ck_assert(enter_from(100).admitted);
    if (_i < 2) {
        assert_ended(&holders[0], ADMISSION_SIGNAL);
        ck_assert(is_alive(&holders[1]));
    } else {
        ck_assert_uint_eq(alive(holders), LIMIT);
        read_table(&file);
        for (size_t i = 0; i < LIMIT; i++) {
            ck_assert_uint_eq(file.places[i].phase, PLACE_STARTED);
        }
    }
    end();
}
END_TEST

/* ---- debts ----------------------------------------------------------------------------------- */

START_TEST(a_debt_evicts_only_its_own)
{
    struct holder others[LIMIT];
    if (!begin((enum who)_i)) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        const struct holder silent = enter("192.0.2.1");
        ck_assert(silent.admitted);
        tell(&silent, FAIL);
        let_go(&silent);
    }
    const struct holder own = enter("192.0.2.1"); /* there is a free place */
    ck_assert(own.admitted);
    for (size_t i = 1; i < LIMIT; i++) {
        others[i] = enter_from(i);
    }
    const struct holder next = enter("192.0.2.1");
    ck_assert(next.admitted);
    assert_ended(&own, ADMISSION_SIGNAL);
    let_go(&next);
    others[0] = enter_from(0);
    ck_assert(!enter("192.0.2.1").admitted && !enter("192.0.2.1").admitted);
    ck_assert_uint_eq(alive(others), LIMIT);
    ck_assert(enter("192.0.2.2").admitted);
    end();
    assert_contains(said, "event=refused reason=penalty others=0\n");
    ck_assert_ptr_null(strstr(strstr(said, "refused") + 1, "refused")); /* one line a second */
}
END_TEST

static bool is_in_debt(const char *address)
{
    static struct places_file file;
    const struct peer peer = peer_at(address);
    const struct source source = source_of(&peer);
    read_table(&file);
    return debts_confine(file.front.debts, &source, clock_now_ms());
}

START_TEST(a_login_clears_the_debt)
{
    if (!begin((enum who)_i)) {
        return;
    }
    const struct holder user = enter("192.0.2.1");
    for (int i = 0; i < 4; i++) {
        const struct holder silent = enter("192.0.2.1");
        tell(&silent, FAIL);
        let_go(&silent);
    }
    ck_assert(is_in_debt("192.0.2.1"));
    tell(&user, LEAVE);
    ck_assert(!is_in_debt("192.0.2.1"));
    for (int i = 0; i < 10; i++) { /* others behind the same address */
        const struct holder silent = enter("192.0.2.1");
        ck_assert(silent.admitted);
        tell(&silent, FAIL);
        let_go(&silent);
    }
    ck_assert(!is_in_debt("192.0.2.1"));
    end();
}
END_TEST

/* This host's proxies may carry anybody's connections. */
START_TEST(no_debts_of_this_host)
{
    if (!begin((enum who)_i)) {
        return;
    }
    for (int i = 0; i < 10; i++) {
        const struct holder silent = enter("127.0.0.1");
        ck_assert(silent.admitted);
        tell(&silent, FAIL);
        let_go(&silent);
    }
    end();
    assert_lacks(said, "event=");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("admission");
    TCase *tests = tcase_create("admission");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_loop_test(tests, each_has_its_own_place, ROOT, USER + 1);
    tcase_add_loop_test(tests, the_first_connection_makes_the_table, ROOT, USER + 1);
    tcase_add_loop_test(tests, two_make_the_table_at_once, ROOT, USER + 1);
    tcase_add_loop_test(tests, a_full_table, ROOT, USER + 1);
    tcase_add_loop_test(tests, room_again, ROOT, USER + 1);
    tcase_add_loop_test(tests, nobody_ends, ROOT, USER + 1);
    tcase_add_loop_test(tests, who_holds_no_place_gets_no_signal, ROOT, USER + 1);
    tcase_add_loop_test(tests, eviction_without_pidfds, 0, 4);
    tcase_add_loop_test(tests, a_debt_evicts_only_its_own, ROOT, USER + 1);
    tcase_add_loop_test(tests, a_login_clears_the_debt, ROOT, USER + 1);
    tcase_add_loop_test(tests, no_debts_of_this_host, ROOT, USER + 1);
    suite_add_tcase(suite, tests);
    return suite;
}
