/* Covers hostkey.c, hostkey_make.c, and the programs of tools/, which run in forks. */
#include "hostkey.h"

#include <limits.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "scratch.h"
#include "tools.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static uint8_t public_key[32];
static uint8_t secret_key[64];
static char said[8192];

static void fill(void)
{
    scratch_make(scratch);
    ck_assert_int_ge(sodium_init(), 0);
    crypto_sign_keypair(public_key, secret_key);
    scratch_write(scratch, "ed25519.pk", public_key, sizeof(public_key), 0644);
    scratch_write(scratch, ".ed25519.sk", secret_key, sizeof(secret_key), 0600);
}

static void path_of(char out[static 2 * SCRATCH_BYTES], const char *name)
{
    snprintf(out, 2 * SCRATCH_BYTES, "%s/%s", scratch, name);
}

static int load(int *status)
{
    struct hostkey key;
    memset(&key, 0x5a, sizeof(key));
    *status = -1;
    capture_begin();
    int result = hostkey_load(&key, scratch, status);
    capture_end(said, sizeof(said));
    if (result == 0) {
        ck_assert_mem_eq(key.first.public_key, public_key, 32);
        ck_assert_mem_eq(key.first.secret_key, secret_key, 64);
        ck_assert_str_eq(said, "");
    } else {
        ck_assert(sodium_is_zero((const uint8_t *)&key, sizeof(key)));
        ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
    }
    return result;
}

static void assert_refused(int expected_status, const char *name, const char *reason)
{
    int status;
    char path[2 * SCRATCH_BYTES];
    path_of(path, name);
    ck_assert_int_eq(load(&status), -1);
    ck_assert_int_eq(status, expected_status);
    assert_contains(said, path);
    assert_contains(said, reason);
}

UNIT_CASE("loading");
UNIT_FIXTURE(fill, NULL);

TEST(good_pair)
{
    int status;
    ck_assert_int_eq(load(&status), 0);
    scratch_write(scratch, ".ed25519.sk", secret_key, sizeof(secret_key), 0400);
    ck_assert_int_eq(load(&status), 0);
}

TEST(no_directory)
{
    int status;
    scratch_remove();
    ck_assert_int_eq(load(&status), -1);
    ck_assert_int_eq(status, 100);
    assert_contains(said, scratch);
    assert_contains(said, "No such file");
}

TEST(directory_is_a_file)
{
    int status;
    scratch_remove();
    scratch_write("/tmp", scratch + strlen("/tmp/"), "", 0, 0644);
    ck_assert_int_eq(load(&status), -1);
    ck_assert_int_eq(status, 100);
    unlink(scratch);
}

TEST(missing_files)
{
    char path[2 * SCRATCH_BYTES];
    path_of(path, "ed25519.pk");
    unlink(path);
    assert_refused(100, "ed25519.pk", "No such file");
    scratch_write(scratch, "ed25519.pk", public_key, sizeof(public_key), 0644);
    path_of(path, ".ed25519.sk");
    unlink(path);
    assert_refused(100, ".ed25519.sk", "No such file");
}

TEST(every_truncation)
{
    uint8_t longer[65] = {0};
    memcpy(longer, secret_key, 64);
    for (size_t bytes = 0; bytes < 64; bytes++) {
        scratch_write(scratch, ".ed25519.sk", secret_key, bytes, 0600);
        assert_refused(100, ".ed25519.sk", "not 64 bytes long");
    }
    scratch_write(scratch, ".ed25519.sk", longer, 65, 0600);
    assert_refused(100, ".ed25519.sk", "not 64 bytes long");
    scratch_write(scratch, ".ed25519.sk", secret_key, 64, 0600);
    for (size_t bytes = 0; bytes < 32; bytes++) {
        scratch_write(scratch, "ed25519.pk", public_key, bytes, 0644);
        assert_refused(100, "ed25519.pk", "not 32 bytes long");
    }
    scratch_write(scratch, "ed25519.pk", longer, 33, 0644);
    assert_refused(100, "ed25519.pk", "not 32 bytes long");
}

TEST(every_mode_of_the_secret_key)
{
    int status;
    for (mode_t mode = 0400; mode <= 0777; mode++) {
        scratch_write(scratch, ".ed25519.sk", secret_key, 64, mode);
        if ((mode & 077) == 0) {
            ck_assert_int_eq(load(&status), 0);
        } else {
            assert_refused(100, ".ed25519.sk", "accessible by group or others");
        }
    }
}

TEST(writable_public_key)
{
    scratch_write(scratch, "ed25519.pk", public_key, 32, 0664);
    assert_refused(100, "ed25519.pk", "writable by group or others");
}

TEST(any_flipped_bit)
{
    for (size_t bit = 0; bit < 64 * 8; bit += 7) {
        uint8_t bent[64];
        memcpy(bent, secret_key, 64);
        bent[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        scratch_write(scratch, ".ed25519.sk", bent, 64, 0600);
        assert_refused(100, ".ed25519.sk", "halves do not match");
    }
    scratch_write(scratch, ".ed25519.sk", secret_key, 64, 0600);
    public_key[5] ^= 1;
    scratch_write(scratch, "ed25519.pk", public_key, 32, 0644);
    assert_refused(100, "ed25519.pk", "does not match");
}

TEST(other_kinds_of_files)
{
    char path[2 * SCRATCH_BYTES];
    path_of(path, ".ed25519.sk");
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_refused(100, ".ed25519.sk", "not a regular file");
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    assert_refused(100, ".ed25519.sk", "not a regular file");
    rmdir(path);
    ck_assert_int_eq(symlink("/dev/zero", path), 0);
    assert_refused(100, ".ed25519.sk", "not a regular file");
}

TEST(owners)
{
    int status;
    char path[2 * SCRATCH_BYTES];
    if (geteuid() != 0) {
        return;
    }
    path_of(path, ".ed25519.sk");
    ck_assert_int_eq(chown(path, 12345, 0), 0);
    assert_refused(100, ".ed25519.sk", "owned by neither");
    ck_assert_int_eq(chown(path, 0, 12345), 0);
    ck_assert_int_eq(load(&status), 0);
    path_of(path, "ed25519.pk");
    ck_assert_int_eq(chown(path, 12345, 0), 0);
    assert_refused(100, "ed25519.pk", "owned by neither");
    /* As that user both its own and root's are fine. */
    path_of(path, ".ed25519.sk");
    ck_assert_int_eq(chown(path, 12345, 0), 0);
    ck_assert_int_eq(seteuid(12345), 0);
    ck_assert_int_eq(load(&status), 0);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(seteuid(54321), 0);
    assert_refused(100, ".ed25519.sk", "Permission denied");
    ck_assert_int_eq(seteuid(0), 0);
}

TEST(public_half_alone)
{
    struct hostkey list;
    int status = -1;
    char path[2 * SCRATCH_BYTES];
    path_of(path, ".ed25519.sk");
    unlink(path);
    ck_assert_int_eq(hostkey_load_public(&list, scratch, &status), 0);
    ck_assert(!list.has_second && sodium_is_zero(list.first.secret_key, 64));
    ck_assert_mem_eq(list.first.public_key, public_key, 32);
}

/* ---- making ---------------------------------------------------------------------------------- */

static enum hostkey_change make(void)
{
    enum hostkey_change change = HOSTKEY_KEPT;
    ck_assert_int_eq(hostkey_make(scratch, NULL, &change), 0);
    return change;
}

static void read_pair(uint8_t *out_public, uint8_t *out_secret)
{
    struct hostkey key;
    int status;
    ck_assert_int_eq(hostkey_load(&key, scratch, &status), 0);
    memcpy(out_public, key.first.public_key, 32);
    memcpy(out_secret, key.first.secret_key, 64);
}

static mode_t mode_of(const char *name)
{
    struct stat found;
    char path[2 * SCRATCH_BYTES];
    path_of(path, name);
    ck_assert_int_eq(stat(path, &found), 0);
    return found.st_mode & 07777;
}

static bool exists(const char *name)
{
    char path[2 * SCRATCH_BYTES];
    path_of(path, name);
    return access(path, F_OK) == 0;
}

UNIT_CASE("making");
UNIT_FIXTURE(fill, NULL);

TEST(make_from_nothing)
{
    uint8_t first_public[32], first_secret[64];
    scratch_remove();
    umask(0077);
    ck_assert_int_eq(make(), HOSTKEY_MADE);
    ck_assert_int_eq(mode_of(".ed25519.sk"), 0600);
    ck_assert_int_eq(mode_of("ed25519.pk"), 0644);
    ck_assert(!exists(".ed25519.sk.tmp") && !exists(".ed25519.pk.tmp"));
    read_pair(first_public, first_secret);
    ck_assert_int_eq(make(), HOSTKEY_KEPT);
    read_pair(public_key, secret_key);
    ck_assert_mem_eq(first_secret, secret_key, 64);
}

TEST(make_leaves_a_good_pair_alone)
{
    struct stat before, after;
    char path[2 * SCRATCH_BYTES];
    int status;
    path_of(path, ".ed25519.sk");
    ck_assert_int_eq(stat(path, &before), 0);
    ck_assert_int_eq(make(), HOSTKEY_KEPT);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert(before.st_ino == after.st_ino);
    ck_assert_int_eq(load(&status), 0);
}

TEST(make_repairs_the_public_key)
{
    int status;
    scratch_write(scratch, "ed25519.pk", public_key, 31, 0644);
    ck_assert_int_eq(make(), HOSTKEY_REPAIRED);
    ck_assert_int_eq(load(&status), 0);
    char path[2 * SCRATCH_BYTES];
    path_of(path, "ed25519.pk");
    unlink(path);
    ck_assert_int_eq(make(), HOSTKEY_REPAIRED);
    ck_assert_int_eq(load(&status), 0);
    public_key[0] ^= 1;
    scratch_write(scratch, "ed25519.pk", public_key, 32, 0644);
    public_key[0] ^= 1;
    ck_assert_int_eq(make(), HOSTKEY_REPAIRED);
    ck_assert_int_eq(load(&status), 0);
}

TEST(make_replaces_a_damaged_secret_key)
{
    uint8_t new_public[32], new_secret[64];
    scratch_write(scratch, ".ed25519.sk", secret_key, 20, 0600);
    ck_assert_int_eq(make(), HOSTKEY_REPLACED);
    read_pair(new_public, new_secret);
    ck_assert_mem_ne(new_public, public_key, 32);
    new_secret[40] ^= 1;
    scratch_write(scratch, ".ed25519.sk", new_secret, 64, 0600);
    ck_assert_int_eq(make(), HOSTKEY_REPLACED);
    read_pair(public_key, secret_key);
    ck_assert_int_eq(make(), HOSTKEY_KEPT);
}

TEST(make_clears_what_a_killed_run_left)
{
    scratch_remove();
    mkdir(scratch, 0755);
    scratch_write(scratch, ".ed25519.sk.tmp", "junk", 4, 0644);
    scratch_write(scratch, ".ed25519.pk.tmp", "junk", 4, 0644);
    ck_assert_int_eq(make(), HOSTKEY_MADE);
    ck_assert(!exists(".ed25519.sk.tmp") && !exists(".ed25519.pk.tmp"));
    ck_assert_int_eq(mode_of(".ed25519.sk"), 0600);
    /* While it was making another secret key, this one was put back. */
    scratch_write(scratch, ".ed25519.sk.tmp", "junk", 4, 0600);
    scratch_write(scratch, "ed25519.pk", "junk", 4, 0644);
    ck_assert_int_eq(make(), HOSTKEY_REPAIRED);
    ck_assert(!exists(".ed25519.sk.tmp") && !exists(".ed25519.pk.tmp"));
    /* And its public key, too. */
    scratch_write(scratch, ".ed25519.sk.tmp", "junk", 4, 0600);
    scratch_write(scratch, ".lock", "", 0, 0600);
    ck_assert_int_eq(make(), HOSTKEY_KEPT);
    ck_assert(!exists(".ed25519.sk.tmp") && !exists(".lock"));
}

/* How many of the next locks come late: another run has removed the file, and a third one has made
 * it again. */
static int late_locks;

/* In place of the C library's. */
int flock(int fd, int operation)
{
    if (late_locks > 0) {
        char path[2 * SCRATCH_BYTES];
        path_of(path, ".lock");
        unlink(path);
        scratch_write(scratch, ".lock", "", 0, 0600);
        late_locks--;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

TEST(make_clears_nothing_of_a_run_that_holds_the_lock)
{
    scratch_write(scratch, ".lock", "", 0, 0600);
    scratch_write(scratch, ".ed25519.sk.tmp", "junk", 4, 0600);
    late_locks = 1;
    ck_assert_int_eq(make(), HOSTKEY_KEPT);
    ck_assert_int_eq(late_locks, 0);
    ck_assert(exists(".ed25519.sk.tmp") && exists(".lock"));
}

TEST(make_locks_the_file_that_has_the_name)
{
    enum hostkey_change change;
    scratch_write(scratch, "ed25519.pk", "junk", 4, 0644);
    late_locks = 3;
    ck_assert_int_eq(make(), HOSTKEY_REPAIRED);
    ck_assert_int_eq(late_locks, 0);
    scratch_write(scratch, "ed25519.pk", "junk", 4, 0644);
    late_locks = INT_MAX;
    capture_begin();
    ck_assert_int_eq(hostkey_make(scratch, NULL, &change), -1);
    capture_end(said, sizeof(said));
    assert_contains(said, "key directory could not be locked");
}

TEST(make_does_not_judge_modes)
{
    enum hostkey_change change;
    int status;
    scratch_write(scratch, ".ed25519.sk", secret_key, 64, 0644);
    capture_begin();
    ck_assert_int_eq(hostkey_make(scratch, NULL, &change), -1);
    capture_end(said, sizeof(said));
    assert_contains(said, "accessible by group or others");
    scratch_write(scratch, ".ed25519.sk", secret_key, 64, 0600);
    ck_assert_int_eq(load(&status), 0);
}

TEST(make_many_at_once)
{
    int status;
    scratch_remove();
    for (int i = 0; i < 16; i++) {
        if (fork() == 0) {
            enum hostkey_change change;
            _exit(hostkey_make(scratch, NULL, &change) == 0 ? 10 + (int)change : 1);
        }
    }
    int made = 0;
    for (int i = 0; i < 16; i++) {
        ck_assert(wait(&status) > 0 && WIFEXITED(status));
        ck_assert_int_ge(WEXITSTATUS(status), 10);
        made += WEXITSTATUS(status) == 10 + HOSTKEY_MADE;
    }
    ck_assert_int_eq(made, 1);
    ck_assert_int_eq(make(), HOSTKEY_KEPT);
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* ssh-keygen -lf of a key made of the bytes 0 to 31. */
TEST(fingerprint_as_ssh_keygen)
{
    char out[FINGERPRINT_BYTES];
    uint8_t key[32];
    for (uint8_t i = 0; i < 32; i++) {
        key[i] = i;
    }
    hostkey_fingerprint(out, key);
    ck_assert_str_eq(out, "SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA");
}

/* In a process of its own: `target` becomes its stdout. */
static int run_tool(int (*tool)(char **), const char *flag, const char *directory, int target)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        char name[] = "tool", first[SCRATCH_BYTES], second[SCRATCH_BYTES];
        char *arguments[] = {name, first, flag != NULL ? second : NULL, NULL};
        snprintf(first, sizeof(first), "%s", flag != NULL ? flag : directory);
        snprintf(second, sizeof(second), "%s", directory);
        if (target >= 0) {
            dup2(target, STDOUT_FILENO);
        } else {
            close(STDOUT_FILENO);
        }
        _exit(tool(arguments));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(tools_say_what_they_did)
{
    char out[1024], fingerprint[FINGERPRINT_BYTES];
    int ends[2];
    ssize_t count;
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
    ck_assert_int_eq(run_tool(makekey_main, NULL, scratch, ends[1]), 0);
    ck_assert_int_eq(run_tool(printkey_main, NULL, scratch, ends[1]), 0);
    count = read(ends[0], out, sizeof(out) - 1);
    ck_assert_int_gt(count, 0);
    out[count] = '\0';
    hostkey_fingerprint(fingerprint, public_key);
    assert_contains(out, "already there");
    assert_contains(out, fingerprint);
    assert_contains(out, "\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI");
    assert_contains(out, " no comment (ED25519)\n");
    ck_assert_int_eq(run_tool(makekey_main, "-q", scratch, ends[1]), 0);
    ck_assert_int_eq(read(ends[0], out, sizeof(out)), -1);
}

TEST(tools_fail_with_a_status)
{
    int full = open("/dev/full", O_WRONLY);
    int null = open("/dev/null", O_WRONLY);
    int (*const tools[])(char **) = {makekey_main, printkey_main};
    capture_begin();
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(run_tool(tools[i], NULL, scratch, full), 111);
        ck_assert_int_eq(run_tool(tools[i], NULL, scratch, -1), 111);
        ck_assert_int_eq(run_tool(tools[i], "-z", scratch, null), 100);
        ck_assert_int_eq(run_tool(tools[i], scratch, scratch, null), 100);
        ck_assert_int_eq(run_tool(tools[i], "-h", scratch, null), 0);
        ck_assert_int_eq(run_tool(tools[i], "-V", scratch, null), 0);
    }
    ck_assert_int_eq(run_tool(printkey_main, NULL, "/nonexistent", null), 100);
    ck_assert_int_eq(run_tool(makekey_main, NULL, "/nonexistent/a", null), 111);
    capture_end(said, sizeof(said));
    assert_contains(said, "wrensshd-makekey: unknown flag: -z");
    assert_contains(said, "wrensshd-printkey: more than one key directory");
}
