/* Covers admission.c: processes that hold slots in a table, as root in a /run of their own and as
 * an ordinary user. tests/system/test_slots.py has the files that are no table. */
#include "table.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base.h"
#include "scratch.h"
#include "unit.h"

enum who { ROOT, USER };

#define LIMIT ((size_t)LIMIT_SLOTS_LEAST)

static char folder[SCRATCH_BYTES];
static char path[SCRATCH_BYTES + 32];
static char said[16384];

/* ---- the fixture ----------------------------------------------------------------------------- */

/* A table with so many slots. */
static void make_table_of(size_t limit)
{
    static struct table_file file;
    memset(&file, 0, sizeof(file));
    table_front_make(&file.front, (uint64_t)limit * LIMIT_SLOT_MEMORY_BYTES);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
    close(fd);
}

/* A /run of its own: false if this user can't have that. */
static bool own_run(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/run", "tmpfs", 0, "size=64k,mode=755") == 0;
}

#define TEST_AS_EACH(name) TEST_RANGE(name, unit_in_a_fork(own_run) ? ROOT : USER, USER + 1)

static void begin(enum who who)
{
    ck_assert_int_ge(sodium_init(), 0);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    if (who == ROOT) {
        snprintf(path, sizeof(path), "/run/wrensshd.slots");
        ck_assert(own_run());
    } else {
        snprintf(path, sizeof(path), "%s/wrensshd.slots", folder);
        ck_assert(geteuid() != 0 ||
                  (chown(folder, 65534, 65534) == 0 && setresgid(65534, 65534, 65534) == 0 &&
                   setresuid(65534, 65534, 65534) == 0));
    }
    make_table_of(LIMIT);
    capture_begin();
}

static void end(void)
{
    capture_end(said, sizeof(said));
}

static void make_folder(void)
{
    scratch_make(folder);
}

UNIT_FIXTURE(make_folder, NULL);
UNIT_TIMEOUT(60);

/* ---- holders --------------------------------------------------------------------------------- */

enum order { EXCHANGE, LEAVE, FAIL, EXIT, SILENCE, LOGIN };

/* A process that has called admission_enter(), and does as it is told. */
struct holder {
    pid_t pid;
    int orders, answers;
    bool admitted, has_table;
    size_t slot;
};

static struct peer peer_at(const char *address)
{
    struct peer peer = {.has_ip = true};
    snprintf(peer.address, sizeof(peer.address), "%s", address);
    return peer;
}

static unsigned most_of_user = UINT32_MAX; /* -U of the processes that enter next */

enum { YES, OF_USER, OF_ALL };

/* How many of two processes are about to log in, or NULL. */
static unsigned *at_once;

/* `who` is 0 for a user and 1 for an administrator of the same uid, 2 and 3 for the next uid... */
static uint8_t log_in(struct admission *admission, unsigned who)
{
    if (at_once != NULL) {
        for (__sync_add_and_fetch(at_once, 1); __sync_add_and_fetch(at_once, 0) < 2;) {
        }
    }
    const char *full = admission_log_in(admission, 1000 + who / 2, most_of_user, who % 2 == 1);
    if (full != NULL) {
        return strstr(full, "this user") != NULL ? OF_USER : OF_ALL;
    }
    admission_leave(admission);
    return YES;
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
    holder->slot = admission.slot;
    if (write(answers, holder, sizeof(*holder)) != sizeof(*holder)) {
        _exit(99);
    }
    while (read(orders, &order, 1) == 1 && order != EXIT) {
        if (order == EXCHANGE) {
            admission_note_exchange(&admission);
        } else if (order == LEAVE) {
            admission_leave(&admission);
        } else if (order == SILENCE) {
            order = (uint8_t)(admission_silence_ms(&admission, 60000) / 1000);
        } else if (order >= LOGIN) {
            order = log_in(&admission, order - LOGIN);
        } else {
            admission_fail(&admission, LIMIT_PENALTY_DEADLINE_MS);
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

static unsigned ask(const struct holder *holder, unsigned order)
{
    uint8_t byte = (uint8_t)order;
    ck_assert_int_eq(write(holder->orders, &byte, 1), 1);
    ck_assert(order == EXIT || read(holder->answers, &byte, 1) == 1);
    return byte;
}

static void tell(const struct holder *holder, enum order order)
{
    ask(holder, order);
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

/* All slots, each from another source; the first has waited for the longest time. */
static void fill(struct holder holders[static LIMIT])
{
    for (size_t i = 0; i < LIMIT; i++) {
        holders[i] = enter_from(i);
        ck_assert(holders[i].admitted && holders[i].has_table);
        ck_assert_uint_lt(holders[i].slot, LIMIT);
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

static void read_table(struct table_file *file)
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

/* ---- slots ----------------------------------------------------------------------------------- */

TEST_AS_EACH(each_has_its_own_place)
{
    struct holder holders[LIMIT];
    bool seen[LIMIT] = {false};
    begin((enum who)_i);
    fill(holders);
    for (size_t i = 0; i < LIMIT; i++) {
        ck_assert(!seen[holders[i].slot]);
        seen[holders[i].slot] = true;
    }
    /* A slot is free again when its holder exits, is killed or has logged in. */
    let_go(&holders[2]);
    ck_assert_int_eq(kill(holders[4].pid, SIGKILL), 0);
    assert_ended(&holders[4], SIGKILL);
    tell(&holders[6], LEAVE);
    for (int i = 0; i < 3; i++) {
        const struct holder next = enter_from(100 + (size_t)i);
        ck_assert_uint_lt(next.slot, LIMIT);
        ck_assert(next.slot == holders[2].slot || next.slot == holders[4].slot ||
                  next.slot == holders[6].slot);
    }
    ck_assert(is_alive(&holders[0]) && is_alive(&holders[6]));
    end();
    assert_lacks(said, "event=");
}

TEST_AS_EACH(the_first_connection_makes_the_table)
{
    struct stat found;
    struct table_file file;
    begin((enum who)_i);
    unlink(path);
    const struct holder first = enter_from(1), second = enter_from(2);
    ck_assert(first.has_table && second.has_table && first.slot != second.slot);
    ck_assert_int_eq(stat(path, &found), 0);
    ck_assert_uint_eq(found.st_mode, S_IFREG | 0600);
    read_table(&file);
    ck_assert(table_front_is_ours(&file.front));
    ck_assert_uint_eq(file.slots[second.slot].phase, SLOT_STARTED);
    end();
    assert_lacks(said, "event=");
}

/* A table that one connection makes and another replaces would hide the first one's slot. */
TEST_AS_EACH(two_make_the_table_at_once)
{
    struct table_file file;
    size_t counted = 0;
    begin((enum who)_i);
    unlink(path);
    another_comes = true; /* in the first one's link() */
    const struct holder first = enter_from(1);
    ck_assert(first.has_table);
    read_table(&file);
    for (size_t i = 0; i < 2 * LIMIT_SLOTS; i++) {
        counted += file.slots[i].phase == SLOT_STARTED;
    }
    ck_assert_uint_eq(counted, 2);
    end();
    assert_lacks(said, "event=");
}

/* The new connection has its slot before the evicted process has ended, and evicts one only. */
TEST_AS_EACH(a_full_table)
{
    struct holder holders[LIMIT];
    begin((enum who)_i);
    fill(holders);
    tell(&holders[0], EXCHANGE);
    for (size_t i = 1; i < LIMIT; i++) {
        stop(&holders[i]); /* they take their time */
    }
    const struct holder newest = enter_from(100);
    ck_assert(newest.admitted && newest.has_table);
    ck_assert_uint_ge(newest.slot, LIMIT);
    ck_assert_uint_eq(alive(holders), LIMIT);
    const struct holder next = enter_from(101);
    ck_assert(next.admitted && next.slot != newest.slot);
    for (size_t i = 1; i < LIMIT; i++) {
        kill(holders[i].pid, SIGCONT);
    }
    assert_ended(&holders[1],
                 ADMISSION_SIGNAL); /* the oldest silent one, then one of the next two */
    int status;
    pid_t second = waitpid(-1, &status, 0);
    ck_assert(second == holders[2].pid || second == holders[3].pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == ADMISSION_SIGNAL);
    for (size_t i = 0; i < LIMIT; i++) {
        ck_assert(i == 1 || holders[i].pid == second || is_alive(&holders[i]));
    }
    ck_assert(is_alive(&newest) && is_alive(&next));
    end();
    assert_contains(said, "event=eviction slots=8\n");
    ck_assert_ptr_null(strstr(strstr(said, "eviction") + 1, "eviction"));
}

/* One who has come while others were evicted keeps its slot when these have gone. Then there is
 * room: new connections evict nobody, however long it stays. */
TEST_AS_EACH(room_again)
{
    struct holder holders[LIMIT];
    begin((enum who)_i);
    fill(holders);
    const struct holder late = enter_from(100);
    ck_assert_uint_ge(late.slot, LIMIT);
    assert_ended(&holders[0], ADMISSION_SIGNAL);
    for (size_t i = 2; i < LIMIT; i++) {
        let_go(&holders[i]);
    }
    const struct holder next = enter_from(101), last = enter_from(102);
    usleep(100000);
    ck_assert(is_alive(&holders[1]) && is_alive(&late) && is_alive(&next) && is_alive(&last));
    end();
}

/* New connections have as many slots again: then nobody that was asked has ended. */
TEST_AS_EACH(nobody_ends)
{
    struct holder holders[LIMIT];
    begin((enum who)_i);
    fill(holders);
    for (size_t i = 0; i < LIMIT; i++) {
        stop(&holders[i]);
    }
    for (size_t i = 0; i < LIMIT; i++) {
        const struct holder newest = enter_from(100 + i);
        ck_assert(newest.admitted);
        stop(&newest);
    }
    ck_assert(!enter_from(200).admitted);
    end();
    assert_contains(said, "event=refused reason=\"no slot\" others=0\n");
}

/* What the table says of a process counts for nothing: only a lock names a holder. */
TEST_AS_EACH(who_holds_no_place_gets_no_signal)
{
    struct holder holders[LIMIT];
    struct table_file file;
    begin((enum who)_i);
    const struct holder left = enter_from(99);
    tell(&left, LEAVE);
    fill(holders);
    read_table(&file);
    for (size_t i = LIMIT; i < 2 * LIMIT; i++) { /* taken for longer than all, as it says */
        file.slots[i] =
            (struct slot){.started_ms = 1, .phase = SLOT_STARTED, .holder = (int32_t)left.pid};
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
    close(fd);
    const struct holder newest = enter_from(100);
    ck_assert(newest.admitted);
    assert_ended(&holders[0], ADMISSION_SIGNAL);
    for (size_t i = 1; i < LIMIT; i++) {
        ck_assert(is_alive(&holders[i]));
    }
    ck_assert(is_alive(&left));
    end();
}

/* What asks an old kernel, or one whose filter forbids calls that it does not know; in the last two
 * cases nobody can be asked: then the records stay as they were. */
TEST_EACH(eviction_without_pidfds, 4)
{
    static const int errors[] = {ENOSYS, EPERM, ENOMEM, EPERM};
    struct holder holders[LIMIT];
    struct table_file file;
    begin(USER);
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
            ck_assert_uint_eq(file.slots[i].phase, SLOT_STARTED);
        }
    }
    end();
}

/* ---- penalties
 * ----------------------------------------------------------------------------------- */

TEST_AS_EACH(a_penalty_evicts_only_its_own)
{
    struct holder others[LIMIT];
    begin((enum who)_i);
    for (int i = 0; i < 4; i++) {
        const struct holder silent = enter("192.0.2.1");
        ck_assert(silent.admitted);
        tell(&silent, FAIL);
        let_go(&silent);
    }
    const struct holder own = enter("192.0.2.1"); /* there is a free slot */
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

static bool has_penalty(const char *address)
{
    static struct table_file file;
    const struct peer peer = peer_at(address);
    const struct source source = source_of(&peer);
    const int64_t now_ms = clock_now_ms();
    read_table(&file);
    return penalty_confines(penalty_of(file.front.penalties, &source, now_ms), now_ms);
}

TEST_AS_EACH(a_login_clears_the_penalty)
{
    begin((enum who)_i);
    const struct holder user = enter("192.0.2.1");
    for (int i = 0; i < 4; i++) {
        const struct holder silent = enter("192.0.2.1");
        tell(&silent, FAIL);
        let_go(&silent);
    }
    ck_assert(has_penalty("192.0.2.1"));
    tell(&user, LEAVE);
    ck_assert(!has_penalty("192.0.2.1"));
    for (int i = 0; i < 10; i++) { /* others behind the same address */
        const struct holder silent = enter("192.0.2.1");
        ck_assert(silent.admitted);
        tell(&silent, FAIL);
        let_go(&silent);
    }
    ck_assert(!has_penalty("192.0.2.1"));
    end();
}

/* This host's proxies may carry anybody's connections. */
TEST_AS_EACH(no_debts_of_this_host)
{
    begin((enum who)_i);
    for (int i = 0; i < 10; i++) {
        const struct holder silent = enter("127.0.0.1");
        ck_assert(silent.admitted);
        tell(&silent, FAIL);
        let_go(&silent);
    }
    end();
    assert_lacks(said, "event=");
}

/* ---- silence --------------------------------------------------------------------------------- */

/* A connection has the less time the more others are silent, whatever the records say of others. */
TEST_AS_EACH(time_to_be_silent)
{
    struct table_file file;
    struct holder silent[LIMIT_SILENT_MANY];
    begin((enum who)_i);
    make_table_of(LIMIT_SLOTS);
    read_table(&file);
    const struct holder first = enter_from(200);
    for (size_t i = 0; i < LIMIT_SILENT_MANY; i++) {
        unsigned seconds = ask(&first, SILENCE);
        size_t more = i > LIMIT_SILENT_FEW ? i - LIMIT_SILENT_FEW : 0;
        ck_assert_uint_eq(seconds, 60 - more * 58 / (LIMIT_SILENT_MANY - LIMIT_SILENT_FEW) -
                                       (more * 58 % 16 != 0));
        silent[i] = enter_from(i);
    }
    ck_assert_uint_eq(ask(&first, SILENCE), 2);
    ck_assert_uint_eq(ask(&silent[7], SILENCE), 2);
    /* Neither who has exchanged keys, nor who has logged in, nor who has ended is silent. */
    for (size_t i = 0; i < LIMIT_SILENT_MANY - LIMIT_SILENT_FEW; i++) {
        if (i % 3 == 2) {
            let_go(&silent[i]);
        } else {
            tell(&silent[i], i % 3 == 0 ? EXCHANGE : LEAVE);
        }
    }
    ck_assert_uint_eq(ask(&first, SILENCE), 60);
    end();
}

/* ---- after the login ------------------------------------------------------------------------- */

/* The fewest slots: 9 connections of a user, 13 in all, 2 of them reserved. */
enum { OF_ONE = 9, ALL = 13, RESERVE = 2 };

static struct holder log_in_as(unsigned who, unsigned wanted)
{
    const struct holder holder = enter_from(who);
    ck_assert(holder.admitted);
    ck_assert_uint_eq(ask(&holder, LOGIN + who), wanted);
    return holder;
}

/* Above the limit a user's login is refused, others' are not; one that ends leaves room. No login
 * ends a connection. */
TEST_AS_EACH(a_user_has_so_many_connections)
{
    struct holder mine[OF_ONE];
    begin((enum who)_i);
    for (size_t i = 0; i < OF_ONE; i++) {
        mine[i] = log_in_as(0, YES);
    }
    for (int i = 0; i < 3; i++) {
        const struct holder refused = log_in_as(0, OF_USER);
        let_go(&refused);
    }
    const struct holder other = log_in_as(2, YES);
    let_go(&mine[3]);
    ck_assert_int_eq(kill(mine[5].pid, SIGKILL), 0);
    assert_ended(&mine[5], SIGKILL);
    mine[3] = log_in_as(0, YES);
    mine[5] = log_in_as(0, YES);
    const struct holder refused = log_in_as(0, OF_USER);
    let_go(&refused);
    for (size_t i = 0; i < OF_ONE; i++) {
        ck_assert(is_alive(&mine[i]));
    }
    ck_assert(is_alive(&other));
    end();
    assert_lacks(said, "event=");
}

/* What others take, up to the last, leaves the reserve to administrators, on top of their limit. */
TEST_AS_EACH(the_reserve)
{
    struct holder mine[ALL];
    begin((enum who)_i);
    for (unsigned i = 0; i < ALL - RESERVE; i++) {
        mine[i] = log_in_as(i == 0 ? 1 : i < OF_ONE ? 0 : 2 + 2 * i, YES);
    }
    const struct holder refused = log_in_as(100, OF_ALL);
    let_go(&refused);
    log_in_as(1, YES);
    log_in_as(1, YES);
    log_in_as(1, OF_ALL);
    log_in_as(101, OF_ALL);
    ck_assert(is_alive(&mine[0]) && is_alive(&mine[ALL - RESERVE - 1]));
    end();
}

/* Two logins of one user at the same moment: they wait for each other in memory that they share. */
TEST_AS_EACH(two_logins_at_once)
{
    enum { ROUNDS = 150 };
    const uint8_t order = LOGIN;
    begin((enum who)_i);
    most_of_user = 1;
    at_once =
        mmap(NULL, sizeof(*at_once), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(at_once, MAP_FAILED);
    for (int round = 0; round < ROUNDS; round++) {
        const struct holder mine[] = {enter_from(0), enter_from(0)};
        uint8_t answers[2];
        *at_once = 0;
        ck_assert_int_eq(write(mine[0].orders, &order, 1), 1);
        ck_assert_int_eq(write(mine[1].orders, &order, 1), 1);
        ck_assert_int_eq(read(mine[0].answers, &answers[0], 1), 1);
        ck_assert_int_eq(read(mine[1].answers, &answers[1], 1), 1);
        ck_assert_msg(answers[0] == OF_USER || answers[1] == OF_USER, "both got in, round %d",
                      round);
        let_go(&mine[0]);
        let_go(&mine[1]);
    }
    end();
}

/* More logins than there are records, one after the other: each takes one that nobody holds. */
TEST_AS_EACH(records_of_the_ended)
{
    begin((enum who)_i);
    log_in_as(0, YES);
    for (unsigned i = 0; i < 2 * ALL; i++) {
        const struct holder next_one = log_in_as(i % 3 == 0 ? 2 : 0, YES);
        let_go(&next_one);
    }
    end();
}

TEST_AS_EACH(a_limit_of_the_command_line)
{
    begin((enum who)_i);
    most_of_user = 2;
    log_in_as(0, YES);
    log_in_as(0, YES);
    log_in_as(0, OF_USER);
    log_in_as(1, YES); /* the reserve */
    log_in_as(1, YES);
    log_in_as(1, OF_USER);
    static struct table_file before, after;
    read_table(&before);
    most_of_user = 0;
    for (int i = 0; i < ALL; i++) {
        const struct holder free = log_in_as(0, YES);
        let_go(&free);
    }
    read_table(&after);
    ck_assert_mem_eq(before.logins, after.logins, sizeof(before.logins)); /* no record */
    end();
}

/* Any bytes in the records: who is counted holds a lock. */
TEST_AS_EACH(records_of_nobody)
{
    static struct table_file file;
    begin((enum who)_i);
    read_table(&file);
    for (size_t i = 0; i < LIMIT_LOGINS; i++) {
        file.logins[i] = 1001;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
    close(fd);
    for (int i = 0; i < OF_ONE; i++) {
        log_in_as(0, YES);
    }
    log_in_as(0, OF_USER);
    end();
    assert_lacks(said, "event=");
}
