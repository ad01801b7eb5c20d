/* Covers hostkey_load.c and the places of hostkey.c: every place that a host key can
 * come from, which is a directory, an OpenSSH key, a credential or a descriptor. */
#include "hostkey.h"

#include <sodium.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "keygen.h"
#include "tools.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static char path[2 * SCRATCH_BYTES];
static uint8_t public_key[32], secret_key[64];
static struct hostkey key;
static char said[8192];
static int status;

static void start(void)
{
    ck_assert_int_ge(sodium_init(), 0);
    scratch_make(scratch);
    crypto_sign_keypair(public_key, secret_key);
    keygen_run(scratch, "ssh-keygen -q -t ed25519 -N '' -C '' -f ssh_host_ed25519_key");
    snprintf(path, sizeof(path), "%s/ssh_host_ed25519_key", scratch);
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

static void write_pair(void)
{
    scratch_write(scratch, "ed25519.pk", public_key, sizeof(public_key), 0644);
    scratch_write(scratch, ".ed25519.sk", secret_key, sizeof(secret_key), 0600);
}

static int load_from(const char *keydir, int fd)
{
    memset(&key, 0x5a, sizeof(key));
    status = -1;
    capture_begin();
    int result = fd < 0 ? hostkey_load(&key, keydir, &status)
                        : hostkey_load_descriptor(&key, fd, keydir, &status);
    capture_end(said, sizeof(said));
    if (result != 0) {
        ck_assert(sodium_is_zero((const uint8_t *)&key, sizeof(key)));
        ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
    }
    return result;
}

static int load(const char *keydir)
{
    return load_from(keydir, -1);
}

static void assert_refused(const char *keydir, const char *logged, const char *reason)
{
    ck_assert_int_eq(load(keydir), -1);
    ck_assert_int_eq(status, 100);
    assert_contains(said, logged);
    assert_contains(said, reason);
}

static void assert_is(const uint8_t *expected_public, const uint8_t *loaded_public,
                      const uint8_t *loaded_secret)
{
    uint8_t derived[32], derived_secret[64];
    crypto_sign_seed_keypair(derived, derived_secret, loaded_secret);
    ck_assert_mem_eq(derived, loaded_public, 32);
    if (expected_public != NULL) {
        ck_assert_mem_eq(expected_public, loaded_public, 32);
    }
}

TEST(a_key_file)
{
    ck_assert_int_eq(load(path), 0);
    ck_assert_str_eq(said, "");
    assert_is(NULL, key.first.public_key, key.first.secret_key);
    ck_assert(!key.has_second && key.certificate_bytes == 0);
}

TEST(modes_and_owners)
{
    for (mode_t mode = 0400; mode <= 0777; mode++) {
        ck_assert_int_eq(chmod(path, mode), 0);
        if ((mode & 077) == 0) {
            ck_assert_int_eq(load(path), 0);
        } else {
            assert_refused(path, path, "secret key is accessible by group or others");
        }
    }
    ck_assert_int_eq(chmod(path, 0600), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 12345, 0), 0);
        assert_refused(path, path, "owned by neither root nor the server's user");
    }
}

TEST(not_a_key_file)
{
    char other[2 * SCRATCH_BYTES];
    snprintf(other, sizeof(other), "%s/none", scratch);
    assert_refused(other, other, "No such file");
    ck_assert_int_eq(mkfifo(other, 0600), 0);
    assert_refused(other, other, "not a regular file");
    assert_refused("/dev/zero", "/dev/zero", "not a regular file");
    scratch_write(scratch, "none", said, sizeof(said), 0600);
    assert_refused(other, other, "is not an OpenSSH private key");
    ck_assert_int_eq(truncate(other, 16385), 0);
    assert_refused(other, other, "is too long");
    /* Whatever its mode: to correct that would help nobody, and break /etc/passwd. */
    ck_assert_int_eq(chmod(other, 0644), 0);
    assert_refused(other, other, "is too long");
    ck_assert_int_eq(truncate(other, 100), 0);
    assert_refused(other, other, "is not an OpenSSH private key");
    snprintf(other, sizeof(other), "%s/ssh_host_ed25519_key.pub", scratch);
    assert_refused(other, other, "is a public key, not a private one");
    keygen_run(scratch, "ssh-keygen -q -p -N secret -f ssh_host_ed25519_key");
    assert_refused(path, path, "protected by a passphrase");
    assert_refused(scratch, path, "protected by a passphrase");
}

TEST(a_directory_with_an_openssh_key)
{
    ck_assert_int_eq(load(path), 0);
    memcpy(public_key, key.first.public_key, 32);
    ck_assert_int_eq(load(scratch), 0);
    assert_is(public_key, key.first.public_key, key.first.secret_key);
    ck_assert(!key.has_second);
}

/* The secret key makes the pair, for the server as for wrensshd-makekey. */
TEST(a_public_key_without_its_secret_one)
{
    ck_assert_int_eq(load(path), 0);
    memcpy(secret_key, key.first.public_key, 32);
    scratch_write(scratch, "ed25519.pk", public_key, sizeof(public_key), 0644);
    ck_assert_int_eq(load(scratch), 0);
    ck_assert_str_eq(said, "");
    ck_assert_mem_eq(secret_key, key.first.public_key, 32);
}

TEST(both)
{
    write_pair();
    ck_assert_int_eq(load(scratch), 0);
    ck_assert_str_eq(said, "");
    assert_is(public_key, key.first.public_key, key.first.secret_key);
    ck_assert(key.has_second);
    assert_is(NULL, key.second.public_key, key.second.secret_key);
    ck_assert_mem_ne(key.second.public_key, public_key, 32);
}

TEST(a_bad_second_key_is_left_out)
{
    write_pair();
    keygen_run(scratch, "ssh-keygen -q -p -N secret -f ssh_host_ed25519_key");
    ck_assert_int_eq(load(scratch), 0);
    assert_contains(said, "protected by a passphrase");
    ck_assert(!key.has_second && sodium_is_zero((uint8_t *)&key.second, sizeof(key.second)));
    struct hostkey list;
    ck_assert_int_eq(hostkey_load_public(&list, scratch, &status), 0);
    ck_assert(!list.has_second && sodium_is_zero(list.first.secret_key, 64));
    ck_assert_mem_eq(list.first.public_key, public_key, 32);
}

TEST(a_bad_first_key_is_not_replaced_by_the_second)
{
    write_pair();
    scratch_write(scratch, "ed25519.pk", secret_key, 31, 0644);
    assert_refused(scratch, "ed25519.pk", "not 32 bytes long");
}

TEST(the_same_key_twice)
{
    ck_assert_int_eq(load(path), 0);
    scratch_write(scratch, "ed25519.pk", key.first.public_key, 32, 0644);
    scratch_write(scratch, ".ed25519.sk", key.first.secret_key, 64, 0600);
    ck_assert_int_eq(load(scratch), 0);
    ck_assert(!key.has_second && sodium_is_zero((uint8_t *)&key.second, sizeof(key.second)));
}

/* ---- certificates ---------------------------------------------------------------------------- */

static void sign(const char *name)
{
    keygen_run(scratch,
               "rm -f ca; ssh-keygen -q -t ed25519 -N '' -f ca && "
               "ssh-keygen -q -I id -h -s ca %s",
               name);
}

TEST(certificates)
{
    sign("ssh_host_ed25519_key.pub");
    ck_assert_int_eq(load(path), 0);
    ck_assert_uint_gt(key.certificate_bytes, 200);
    ck_assert_int_eq(load(scratch), 0);
    ck_assert_uint_gt(key.certificate_bytes, 200);
    ck_assert_str_eq(said, "");
    write_pair(); /* that of the second key is not offered */
    ck_assert_int_eq(load(scratch), 0);
    ck_assert_uint_eq(key.certificate_bytes, 0);
    keygen_run(scratch, "cp ssh_host_ed25519_key-cert.pub ed25519-cert.pub");
    ck_assert_int_eq(load(scratch), 0);
    ck_assert_uint_eq(key.certificate_bytes, 0);
    assert_contains(said, "/ed25519-cert.pub");
    assert_contains(said, "is the certificate of another key");
    memcpy(public_key, key.second.public_key, 32);
    memcpy(secret_key, key.second.secret_key, 64);
    write_pair();
    ck_assert_int_eq(load(scratch), 0);
    ck_assert_str_eq(said, "");
    ck_assert_uint_gt(key.certificate_bytes, 200);
}

TEST(refused_certificates)
{
    sign("ssh_host_ed25519_key.pub");
    keygen_run(scratch, "chmod 666 ssh_host_ed25519_key-cert.pub");
    ck_assert_int_eq(load(path), 0);
    assert_contains(said, "_key-cert.pub");
    assert_contains(said, "writable by group or others");
    ck_assert_uint_eq(key.certificate_bytes, 0);
    keygen_run(scratch, "rm ssh_host_ed25519_key-cert.pub; mkfifo ssh_host_ed25519_key-cert.pub");
    ck_assert_int_eq(load(path), 0);
    assert_contains(said, "not a regular file");
    keygen_run(scratch, "rm ssh_host_ed25519_key-cert.pub; head -c 100000 /dev/zero > "
                        "ssh_host_ed25519_key-cert.pub; chmod 644 ssh_host_ed25519_key-cert.pub");
    ck_assert_int_eq(load(path), 0);
    assert_contains(said, "is too long");
}

/* ---- credentials and descriptors ------------------------------------------------------------- */

TEST(credentials)
{
    unsetenv("CREDENTIALS_DIRECTORY");
    assert_refused("credential:hostkey", "credential:hostkey", "CREDENTIALS_DIRECTORY is not set");
    setenv("CREDENTIALS_DIRECTORY", scratch, 1);
    assert_refused("credential:", "credential:", "is not the name of a credential");
    assert_refused("credential:../x", "credential:../x", "is not the name of a credential");
    assert_refused("credential:a/b", "credential:a/b", "is not the name of a credential");
    assert_refused("credential:none", scratch, "No such file");
    ck_assert_int_eq(load("credential:ssh_host_ed25519_key"), 0);
    assert_is(NULL, key.first.public_key, key.first.secret_key);
    ck_assert_int_eq(chmod(path, 0440), 0); /* with an ACL for the service's user */
    ck_assert_int_eq(load("credential:ssh_host_ed25519_key"), 0);
    ck_assert_int_eq(chmod(path, 0444), 0);
    assert_refused("credential:ssh_host_ed25519_key", path, "accessible by group or others");
    unsetenv("CREDENTIALS_DIRECTORY");
}

TEST(descriptors)
{
    char text[4096];
    size_t count = keygen_read(scratch, "ssh_host_ed25519_key", text, sizeof(text));
    int fd = memfd_create("key", MFD_CLOEXEC);
    ck_assert_int_eq(write(fd, text, count), (int)count); /* read from its start all the same */
    ck_assert_int_eq(load_from("fd:7", fd), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    assert_is(NULL, key.first.public_key, key.first.secret_key);
    ck_assert_int_eq(load_from("fd:7", open(path, O_RDONLY | O_CLOEXEC)), 0);
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(load_from("fd:7", open(path, O_RDONLY | O_CLOEXEC)), -1);
    assert_contains(said, "fd:7");
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(load_from("fd:7", open(scratch, O_RDONLY | O_CLOEXEC)), 0);
    ck_assert_int_eq(load_from("fd:7", open("/dev/null", O_RDONLY | O_CLOEXEC)), -1);
    assert_contains(said, "not a regular file");
}

/* ---- the tools ------------------------------------------------------------------------------- */

static int run_tool(int (*tool)(char **), const char *flag, const char *value, const char *keydir,
                    char out[static 2048])
{
    int ends[2], exit_status;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        char *arguments[] = {strdup("tool"), strdup(flag), strdup(value),
                             keydir != NULL ? strdup(keydir) : NULL, NULL};
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        _exit(tool(arguments));
    }
    close(ends[1]);
    ck_assert_int_eq(waitpid(child, &exit_status, 0), child);
    ssize_t count = read(ends[0], out, 2047);
    out[count > 0 ? count : 0] = '\0';
    close(ends[0]);
    ck_assert(WIFEXITED(exit_status));
    return WEXITSTATUS(exit_status);
}

TEST(makekey_imports)
{
    char out[2048], other[2 * SCRATCH_BYTES], directory[2 * SCRATCH_BYTES];
    char spare[2 * SCRATCH_BYTES];
    uint8_t imported[32];
    snprintf(directory, sizeof(directory), "%s/new", scratch);
    snprintf(other, sizeof(other), "%s/other", scratch);
    ck_assert_int_eq(load(path), 0);
    memcpy(imported, key.first.public_key, 32);
    ck_assert_int_eq(run_tool(makekey_main, "-i", path, directory, out), 0);
    assert_contains(out, "host key imported, SHA256:");
    ck_assert_int_eq(load(directory), 0);
    ck_assert_mem_eq(imported, key.first.public_key, 32);
    ck_assert_int_eq(run_tool(makekey_main, "-i", path, directory, out), 0);
    assert_contains(out, "already there");
    keygen_run(scratch, "ssh-keygen -q -t ed25519 -N '' -f other; rm new/ed25519.pk");
    ck_assert_int_eq(run_tool(makekey_main, "-i", other, directory, out), 111);
    assert_contains(out, "/new/.ed25519.sk reason=\"is another key; nothing was changed. "
                         "Move it and ed25519.pk away first\"");
    keygen_run(scratch, "test ! -e new/ed25519.pk");
    ck_assert_int_eq(run_tool(makekey_main, "-i", path, directory, out), 0);
    assert_contains(out, "repaired");
    keygen_run(scratch, "cp -a new spare; rm spare/.ed25519.sk spare/ed25519.pk");
    snprintf(spare, sizeof(spare), "%s/spare", scratch);
    ck_assert_int_eq(run_tool(makekey_main, "-i", other, spare, out), 0);
    assert_contains(out, "host key imported, SHA256:");
    ck_assert_int_eq(run_tool(makekey_main, "-i", "/nonexistent", directory, out), 100);
    ck_assert_int_eq(run_tool(makekey_main, "-q", "-q", "-i", out), 100);
    assert_contains(out, "this flag needs an argument: -i");
    ck_assert_int_eq(load(directory), 0);
    ck_assert_mem_eq(imported, key.first.public_key, 32);
}

/* A pair would come first, and clients would see another host key. */
TEST(makekey_leaves_an_openssh_key_alone)
{
    static const char as_before[] = "test ! -e .ed25519.sk && test ! -e .lock && "
                                    "test $(ls | wc -l) = 2";
    char out[2048], fingerprint[FINGERPRINT_BYTES];
    const char *const places[] = {scratch, path};
    ck_assert_int_eq(load(path), 0);
    hostkey_fingerprint(fingerprint, key.first.public_key);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(run_tool(makekey_main, "--", places[i], NULL, out), 0);
        assert_contains(out, ": host key already there, in OpenSSH's format, SHA256:");
        assert_contains(out, fingerprint);
        ck_assert_int_eq(run_tool(makekey_main, "-q", places[i], NULL, out), 0);
        ck_assert_str_eq(out, "");
        keygen_run(scratch, as_before);
    }
    scratch_write(scratch, "ed25519.pk", public_key, sizeof(public_key), 0644);
    ck_assert_int_eq(run_tool(makekey_main, "-q", scratch, NULL, out), 0);
    keygen_run(scratch, "rm ed25519.pk");
    keygen_run(scratch, as_before);
    /* With -i somebody asks for the pair. */
    ck_assert_int_eq(run_tool(makekey_main, "-i", path, scratch, out), 0);
    assert_contains(out, "imported");
    ck_assert_int_eq(run_tool(makekey_main, "--", scratch, NULL, out), 0);
    assert_contains(out, ": host key already there, SHA256:");
}

/* It is not for us to decide what becomes of a key that can't be used. */
TEST_EACH(makekey_refuses_an_openssh_key_that_can_not_be_used, 6)
{
    static const struct {
        const char *damage, *reason;
    } rows[] = {{"chmod 640 ssh_host_ed25519_key", "accessible by group or others"},
                {": > ssh_host_ed25519_key", "is not an OpenSSH private key"},
                {"ssh-keygen -q -p -N secret -f ssh_host_ed25519_key", "protected by a passphrase"},
                {"mv ssh_host_ed25519_key.pub ssh_host_ed25519_key", "is a public key"},
                {"ln -sf nowhere ssh_host_ed25519_key", "No such file"},
                {"chown 12345 ssh_host_ed25519_key", "owned by neither"}};
    char out[2048];
    if (_i == 5 && geteuid() != 0) {
        return;
    }
    keygen_run(scratch, "%s", rows[_i].damage);
    ck_assert_int_ge(run_tool(makekey_main, "--", scratch, NULL, out), 100);
    assert_contains(out, path);
    assert_contains(out, rows[_i].reason);
    keygen_run(scratch, "test ! -e .ed25519.sk && test ! -e ed25519.pk");
}

TEST(printkey_prints_what_ssh_keygen_prints)
{
    char out[2048], expected[2048];
    keygen_run(scratch, "ssh-keygen -r host.example -f ssh_host_ed25519_key.pub > all && "
                        "grep ' 4 2 ' all > expected");
    keygen_read(scratch, "expected", expected, sizeof(expected));
    ck_assert_int_eq(run_tool(printkey_main, "-r", "host.example", path, out), 0);
    ck_assert_str_eq(out, expected);
    ck_assert_int_eq(run_tool(printkey_main, "-r", "host.example", scratch, out), 0);
    ck_assert_str_eq(out, expected);
    ck_assert_int_eq(run_tool(printkey_main, "--", path, "", out), 100);
    write_pair();
    ck_assert_int_eq(run_tool(printkey_main, "-r", "host.example", scratch, out), 0);
    assert_contains(out, expected);
    ck_assert_ptr_nonnull(strchr(strchr(out, '\n') + 1, '\n'));
}

TEST(printkey_without_the_right_to_the_secret_key)
{
    struct hostkey list;
    ck_assert_int_eq(load(path), 0);
    if (geteuid() != 0) {
        return;
    }
    ck_assert_int_eq(chmod(scratch, 0755), 0);
    ck_assert_int_eq(seteuid(12345), 0);
    ck_assert_int_eq(hostkey_load_public(&list, path, &status), 0);
    ck_assert_mem_eq(list.first.public_key, key.first.public_key, 32);
    ck_assert_int_eq(hostkey_load_public(&list, scratch, &status), 0);
    ck_assert_mem_eq(list.first.public_key, key.first.public_key, 32);
    ck_assert_int_eq(seteuid(0), 0);
}
