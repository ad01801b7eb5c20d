/* Covers authkeys_search.c, authkeys_file.c, lines.c, user_key.c and authkeys_ask.c. The children
 * find people.h's accounts. */
#include "monitor_internal.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "authkeys_internal.h"
#include "base.h"
#include "ipc.h"
#include "people.h"
#include "process.h"
#include "scratch.h"
#include "search.h"
#include "unit.h"

/* The key of the bytes 0 to 31. */
#define HEAD       "AAAAC3NzaC1lZDI1NTE5AAAAI"
#define TAIL       "AABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4"
#define KEY_BASE64 HEAD TAIL "f"
#define KEY        "ssh-ed25519 " KEY_BASE64
#define OTHER_KEY  "ssh-ed25519 " HEAD "JbE8rXugEU5bUc3UdwQ91n7SEex0DVYtSltD/B5FtdR"

static uint8_t key[32];
static char scratch[SCRATCH_BYTES];
static struct account account;

/* ---- one line -------------------------------------------------------------------------------- */

enum line_kind {
    LINE_OTHER,   /* blank, a comment, another key, or nonsense */
    LINE_PLAIN,   /* the key */
    LINE_OPTIONS, /* the key behind options */
};

/* As key_write_text() makes it of the bytes 0 to 31. */
static struct key_text wanted = {
    .type = "ssh-ed25519",
    .base64 = KEY_BASE64,
    .base64_bytes = sizeof(KEY_BASE64) - 1,
};

static enum line_kind kind_of(const char *line, size_t count)
{
    struct key_line parts;
    if (!key_line_read(&parts, reader_over(line, count)) || !key_line_lists(&parts, &wanted)) {
        return LINE_OTHER;
    }
    return parts.options.left > 0 ? LINE_OPTIONS : LINE_PLAIN;
}

static const struct {
    enum line_kind kind;
    const char *line;
} lines[] = {
    {LINE_PLAIN, KEY},
    {LINE_PLAIN, KEY " bob@example.org"},
    {LINE_PLAIN, KEY " a comment of \"several words"},
    {LINE_PLAIN, "  \t " KEY},
    {LINE_PLAIN, "ssh-ed25519\t\t " KEY_BASE64 "\tx"},
    {LINE_PLAIN, KEY "   "},
    {LINE_OTHER, ""},
    {LINE_OTHER, "   "},
    {LINE_OTHER, "#" KEY},
    {LINE_OTHER, "  # " KEY},
    {LINE_OTHER, "ssh-ed25519"},
    {LINE_OTHER, "ssh-ed25519 "},
    {LINE_OTHER, KEY_BASE64},
    /* Not exactly the base64 of exactly the blob. */
    {LINE_OTHER, KEY "="},
    {LINE_OTHER, KEY "AAAA"},
    {LINE_OTHER, "ssh-ed25519 " HEAD TAIL},
    {LINE_OTHER, "ssh-ed25519 " HEAD TAIL "!"},
    {LINE_OTHER, "ssh-ed25519 " HEAD TAIL "="},
    {LINE_OTHER, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE4AAAAI" TAIL "f"},
    {LINE_OTHER, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIQ"
                 "ABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"},
    {LINE_OTHER, "ssh-ed25519  AAAAC3NzaC1lZDI1NTE5 AAAAI" TAIL "f"},
    /* Lines of other key types: their first word is never read as options. */
    {LINE_OTHER, "ssh-rsa " KEY_BASE64},
    {LINE_OTHER, "ssh-rsa " KEY},
    {LINE_OTHER, "ssh-ed25519 " KEY},
    {LINE_OTHER, "ssh-dss " KEY},
    {LINE_OTHER, "ecdsa-sha2-nistp256 " KEY},
    {LINE_OTHER, "sk-ssh-ed25519@openssh.com " KEY},
    {LINE_OTHER, "ssh-ed25519-cert-v01@openssh.com " KEY},
    {LINE_OTHER, "SSH-ED25519 " KEY_BASE64},
    {LINE_OTHER, "ssh-ed25519x " KEY_BASE64},
    /* Options. */
    {LINE_OPTIONS, "restrict " KEY},
    {LINE_OPTIONS, "\trestrict\t" KEY " comment"},
    {LINE_OPTIONS, "no-pty,command=\"echo hi\" " KEY},
    {LINE_OPTIONS, "command=\"echo \\\"a b\\\" c\" " KEY},
    {LINE_OPTIONS, "cert-authority " KEY},
    {LINE_OPTIONS, "unheard-of=\"x y\" " KEY},
    {LINE_OTHER, "command=\"echo " KEY "\" ssh-rsa AAAA"},
    {LINE_OTHER, "command=\"echo " KEY},
    {LINE_OTHER, "command=\"x\\\" " KEY},
    {LINE_OTHER, "restrict restrict " KEY},
    {LINE_OTHER, "restrict"},
    {LINE_OTHER, "restrict ssh-rsa AAAA"},
    {LINE_OTHER, "\"\"\"\\"},
};

TEST_EACH(line_table, COUNT_OF(lines))
{
    const char *line = lines[_i].line;
    /* A copy of its exact size, so that a sanitizer sees a read past it. */
    char *exact = malloc(strlen(line) + (line[0] == '\0'));
    memcpy(exact, line, strlen(line));
    ck_assert_msg(kind_of(exact, strlen(line)) == lines[_i].kind, "<%s>", line);
    free(exact);
}

TEST(nul_bytes_in_a_line)
{
    static const char comment[] = KEY " a\0b";
    static const char inside[] = "ssh-ed25519\0" KEY_BASE64;
    static const char front[] = "\0" KEY;
    ck_assert_int_eq(kind_of(comment, sizeof(comment) - 1), LINE_PLAIN);
    ck_assert_int_eq(kind_of(inside, sizeof(inside) - 1), LINE_OTHER);
    ck_assert_int_eq(kind_of(front, sizeof(front) - 1), LINE_OTHER);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void begin(void)
{
    for (uint8_t i = 0; i < 32; i++) {
        key[i] = i;
    }
    scratch_make(scratch);
    people_begin(scratch);
    memset(&account, 0, sizeof(account));
    snprintf(account.user, sizeof(account.user), "alice");
    snprintf(account.home, sizeof(account.home), "%s", scratch);
    snprintf(account.shell, sizeof(account.shell), "/bin/sh");
    account.uid = geteuid();
    account.gid = getegid();
    char path[2 * SCRATCH_BYTES];
    snprintf(path, sizeof(path), "%s/.ssh", scratch);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(60);

static struct authkeys_query make_query(const char *pattern)
{
    static uint8_t blob[HOSTKEY_BLOB_BYTES];
    hostkey_blob(blob, key);
    return (struct authkeys_query){
        .patterns = {pattern},
        .user = "alice",
        .key_type = IPC_KEY_ED25519,
        .blob = blob,
        .blob_bytes = sizeof(blob),
    };
}

static struct authkeys_verdict search_with(const char *pattern)
{
    struct authkeys_verdict verdict;
    const struct authkeys_query query = make_query(pattern);
    search_files(&verdict, &query, &account);
    return verdict;
}

static struct authkeys_verdict search(void)
{
    return search_with(NULL);
}

static struct authkeys_verdict search_text(const char *text)
{
    scratch_write(scratch, ".ssh/authorized_keys", text, strlen(text), 0600);
    return search();
}

static void assert_listed(const char *text, uint32_t line)
{
    struct authkeys_verdict verdict = search_text(text);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_GOOD);
    ck_assert_uint_eq(verdict.line, line);
}

TEST(lines_of_a_file)
{
    assert_listed(KEY, 1);
    assert_listed(KEY "\n", 1);
    assert_listed("\r\n# x\r\n" KEY "\r\n", 3);
    assert_listed("\n\n\n" OTHER_KEY "\n" KEY, 5);
    ck_assert_uint_eq(search_text("").reason, AUTHKEYS_NOT_LISTED);
    ck_assert_uint_eq(search_text("\n").reason, AUTHKEYS_NOT_LISTED);
    ck_assert_uint_eq(search_text(OTHER_KEY "\n").reason, AUTHKEYS_NOT_LISTED);
}

/* An account without a shell gets in by a line that forces our SFTP server, and by no other. */
TEST(no_shell)
{
    static const char *const others[] = {KEY,
                                         "command=\"internal-sftp;sh\" " KEY,
                                         "command=\" internal-sftp\" " KEY,
                                         "command=\"/bin/sh\",restrict " KEY,
                                         "command=\"\" " KEY,
                                         "pty " KEY};
    static const char forced[] = "command=\"internal-sftp -R\" " KEY;
    account.shell[0] = '\0';
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct authkeys_verdict verdict = search_text(others[i]);
        ck_assert_uint_eq(verdict.reason, AUTHKEYS_NO_SHELL);
        ck_assert_uint_eq(verdict.line, 1);
        ck_assert_uint_eq(verdict.grant.flags, 0);
    }
    assert_listed(forced, 1);
    assert_listed("command=\"internal-sftp\",restrict " KEY, 1);
    /* Of several lines with the key, one that it may not use does not count. */
    char text[1024];
    snprintf(text, sizeof(text), "%s\n%s\n", KEY, forced);
    assert_listed(text, 2);
    ck_assert_str_eq(search_text(text).grant.command, "internal-sftp -R");
    /* A line that refuses for another reason says that one. */
    snprintf(text, sizeof(text), "x,%s", forced);
    ck_assert_uint_eq(search_text(text).reason, AUTHKEYS_UNKNOWN_OPTION);
    ck_assert_uint_eq(search_text(OTHER_KEY).reason, AUTHKEYS_NOT_LISTED);
}

/* Editors write the mark. Only at the start of the file is it no part of a line. */
TEST(a_byte_order_mark)
{
    assert_listed("\xef\xbb\xbf" KEY "\r\n", 1);
    assert_listed("\xef\xbb\xbf\n" KEY "\n", 2);
    ck_assert_uint_eq(search_text("\n\xef\xbb\xbf" KEY "\n").reason, AUTHKEYS_LINE_NO_TYPE);
    ck_assert_uint_eq(search_text("\xef\xbb\xbf# " KEY "\n").reason, AUTHKEYS_NOT_LISTED);
    ck_assert_uint_eq(search_text("\xef\xbb" KEY "\n").reason, AUTHKEYS_LINE_NO_TYPE);
}

/* The verdict names the first line without a whole key, unless a line has the offered key. */
TEST_EACH(faulty_lines, 9)
{
    static const struct {
        enum authkeys_reason reason;
        uint32_t line;
        const char *text;
    } files[] = {
        {AUTHKEYS_LINE_DAMAGED, 1, "ssh-ed25519\n" KEY_BASE64 "\n"},
        {AUTHKEYS_LINE_DAMAGED, 2, "# x\nssh-ed25519 " HEAD "\n" TAIL "f alice\n"},
        {AUTHKEYS_LINE_DAMAGED, 1, "ssh-ed25519 " HEAD TAIL "\n"},
        {AUTHKEYS_LINE_DAMAGED, 1, "sk-ssh-ed25519@openssh.com AAAAA alice\n"},
        {AUTHKEYS_LINE_NO_TYPE, 2, OTHER_KEY "\n" KEY_BASE64 "\nssh-ed25519\n"},
        {AUTHKEYS_LINE_NO_TYPE, 1, "command=\"true " KEY "\n"},
        {AUTHKEYS_NOT_LISTED, 0, "ssh-rsa AAAA\n  # " KEY "\n\n" OTHER_KEY},
        {AUTHKEYS_UNKNOWN_OPTION, 2, "ssh-ed25519\nx " KEY "\n"},
        {AUTHKEYS_GOOD, 2, "ssh-ed25519\n" KEY "\nx\n"},
    };
    struct authkeys_verdict verdict = search_text(files[_i].text);
    ck_assert_uint_eq(verdict.reason, files[_i].reason);
    ck_assert_uint_eq(verdict.line, files[_i].line);
}

TEST(a_refused_line_is_no_end)
{
    struct authkeys_verdict verdict = search_text("\nrestrictive " KEY "\ncommand=x " KEY "\n");
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNKNOWN_OPTION);
    ck_assert_uint_eq(verdict.line, 2);
    ck_assert_str_eq(verdict.option, "restrictive");
    assert_contains(authkeys_words(&verdict), "option");
    /* A good line before or after the broken one counts. */
    assert_listed("restrictive " KEY "\n" KEY "\n", 2);
    assert_listed(KEY "\nrestrictive " KEY "\n", 1);
    assert_listed("restrict " KEY "\n" KEY "\n", 1);
    ck_assert_uint_eq(search_text("restrict " OTHER_KEY "\n").reason, AUTHKEYS_NOT_LISTED);
}

/* Nothing of what a refused line would have granted is in the verdict: not if no line is accepted,
 * and not if a later one is. */
TEST_EACH(a_refused_line_grants_nothing, 5)
{
    static const struct {
        enum authkeys_reason reason;
        const char *options;
    } refused[] = {
        {AUTHKEYS_ELSEWHERE, "command=\"id\",environment=\"A=b\",from=\"10.0.0.1\""},
        {AUTHKEYS_EXPIRED, "environment=\"A=b\",verify-required,expiry-time=\"20200101\""},
        {AUTHKEYS_UNKNOWN_OPTION, "command=\"id\",no-touch-required,nonsense"},
        {AUTHKEYS_BROKEN_OPTION, "no-touch-required,environment=\"A=b\",command"},
        {AUTHKEYS_FOR_AUTHORITY, "command=\"id\",environment=\"A=b\",cert-authority"},
    };
    char text[512];
    struct authkeys_verdict verdict;
    struct authkeys_query query = make_query(NULL);
    struct grant wanted_grant = {.key = {.sk = 0}};
    query.may_set_environment = true;
    query.address = "192.0.2.1";
    query.now = 1800000000;
    memcpy(wanted_grant.key.public_key, key, sizeof(key));
    crypto_hash_sha256(wanted_grant.fingerprint, query.blob, query.blob_bytes);
    for (unsigned accepted = 0; accepted < 2; accepted++) {
        wanted_grant.flags = accepted != 0 ? GRANT_OF_PLAIN_LINE : 0;
        int count = snprintf(text, sizeof(text), "%s " KEY "\n%s", refused[_i].options,
                             accepted != 0 ? KEY "\n" : "");
        scratch_write(scratch, ".ssh/authorized_keys", text, (size_t)count, 0600);
        search_files(&verdict, &query, &account);
        ck_assert_uint_eq(verdict.reason, accepted != 0 ? AUTHKEYS_GOOD : refused[_i].reason);
        ck_assert_uint_eq(verdict.line, accepted + 1);
        ck_assert_mem_eq(&verdict.grant, &wanted_grant, sizeof(wanted_grant));
    }
}

/* A line whose key follows `front` other bytes: cut there, it would list the key. */
TEST(long_lines_are_skipped_whole)
{
    static char text[3 * LIMIT_AUTHKEYS_LINE_BYTES + 1024];
    for (size_t front = LIMIT_AUTHKEYS_LINE_BYTES - 200; front < LIMIT_AUTHKEYS_LINE_BYTES + 200;
         front++) {
        memset(text, 'x', front);
        snprintf(text + front, sizeof(text) - front, "%s", KEY "\n");
        ck_assert_uint_ne(search_text(text).reason, AUTHKEYS_GOOD);
        memset(text, ' ', front - 1);
        text[0] = '#';
        ck_assert_uint_ne(search_text(text).reason, AUTHKEYS_GOOD);
    }
    memset(text, 'x', 2 * LIMIT_AUTHKEYS_LINE_BYTES);
    for (size_t end = 0; end < 2; end++) {
        memcpy(text + LIMIT_AUTHKEYS_LINE_BYTES * (2 - end), "\n#\n\n", 5);
        struct authkeys_verdict verdict = search_text(text);
        ck_assert_uint_eq(verdict.reason, AUTHKEYS_LINE_TOO_LONG);
        ck_assert_uint_eq(verdict.line, 1);
    }
    text[LIMIT_AUTHKEYS_LINE_BYTES] = '\0'; /* the end of the file, when the buffer is full */
    ck_assert_uint_eq(search_text(text).reason, AUTHKEYS_LINE_TOO_LONG);
    memset(text, '#', 2 * LIMIT_AUTHKEYS_LINE_BYTES);
    snprintf(text + 2 * LIMIT_AUTHKEYS_LINE_BYTES, 1024, "%s", KEY "\n" KEY);
    assert_listed(text, 2);
    memset(text, '\n', 2 * LIMIT_AUTHKEYS_LINE_BYTES);
    assert_listed(text, 2 * LIMIT_AUTHKEYS_LINE_BYTES + 1);
}

TEST(longest_line_counts)
{
    static char text[LIMIT_AUTHKEYS_LINE_BYTES + 256];
    for (size_t bytes = LIMIT_AUTHKEYS_LINE_BYTES - 2; bytes <= LIMIT_AUTHKEYS_LINE_BYTES + 1;
         bytes++) {
        memset(text, 'c', sizeof(text));
        memcpy(text, KEY " ", sizeof(KEY));
        text[bytes] = '\n';
        text[bytes + 1] = '\0';
        bool fits = bytes < LIMIT_AUTHKEYS_LINE_BYTES;
        ck_assert_int_eq(search_text(text).reason == AUTHKEYS_GOOD, fits);
    }
}

/* Every way the reads may fall: a pipe would be refused, so files around the buffer's size. */
TEST(keys_across_the_buffer)
{
    static char text[2 * LIMIT_AUTHKEYS_LINE_BYTES];
    for (size_t at = LIMIT_AUTHKEYS_LINE_BYTES - 100; at < LIMIT_AUTHKEYS_LINE_BYTES + 100; at++) {
        memset(text, '\n', at);
        snprintf(text + at, sizeof(text) - at, "%s", KEY);
        assert_listed(text, (uint32_t)at + 1);
    }
}

/* ---- what the file is ------------------------------------------------------------------------ */

static void keys_path(char out[static 2 * SCRATCH_BYTES])
{
    snprintf(out, 2 * SCRATCH_BYTES, "%s/.ssh/authorized_keys", scratch);
}

TEST(other_kinds_of_files)
{
    char path[2 * SCRATCH_BYTES];
    keys_path(path);
    alarm(5);
    ck_assert_uint_eq(search().reason, AUTHKEYS_MISSING);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_uint_eq(search().reason, AUTHKEYS_NOT_REGULAR);
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_uint_eq(search().reason, AUTHKEYS_NOT_REGULAR);
    rmdir(path);
    static const char *const devices[] = {"/dev/zero", "/dev/tty", "/dev/null"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(symlink(devices[i], path), 0);
        uint32_t reason = search().reason;
        ck_assert(reason == AUTHKEYS_NOT_REGULAR || reason == AUTHKEYS_UNREADABLE);
        unlink(path);
    }
    ck_assert_int_eq(symlink(path, path), 0);
    ck_assert_uint_eq(search().reason, AUTHKEYS_UNREADABLE);
}

TEST(unreadable_file)
{
    if (geteuid() == 0) {
        return;
    }
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0000);
    struct authkeys_verdict verdict = search();
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNREADABLE);
    ck_assert_str_eq(authkeys_words(&verdict), "Permission denied");
}

/* After SIGXCPU nothing is read: no key is listed, and none counts as not revoked. */
TEST(too_much_processor_time)
{
    char path[sizeof(scratch) + 8];
    const struct sigaction stops = {.sa_sigaction = authkeys_stop_reading, .sa_flags = SA_SIGINFO};
    struct authkeys_query query = make_query(NULL);
    struct authkeys_verdict verdict = search_text(KEY);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_GOOD);
    scratch_write(scratch, "revoked", OTHER_KEY "\n", strlen(OTHER_KEY) + 1, 0600);
    snprintf(path, sizeof(path), "%s/revoked", scratch);
    sigaction(SIGXCPU, &stops, NULL);
    raise(SIGXCPU);
    search_files(&verdict, &query, &account);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_TOO_SLOW);
    assert_contains(verdict.path, "/.ssh/authorized_keys");
    /* The list of revoked keys is read last: the time may have come by then. */
    static struct authkeys_files files;
    query.revoked_path = path;
    authkeys_open_admins(&files, &query, &account);
    const struct revoked_offer offer = {.key = &wanted};
    ck_assert(authkeys_is_revoked(&verdict, &files.revoked, &offer));
    close(files.revoked.fd);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_TOO_SLOW);
    ck_assert_str_eq(verdict.path, path);
    ck_assert_str_eq(authkeys_words(&verdict), "reading this file takes too much processor time");
    lines_stopped = 0;
    signal(SIGXCPU, SIG_DFL);
    search_files(&verdict, &query, &account);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_GOOD);
}

/* ---- several files --------------------------------------------------------------------------- */

static struct authkeys_verdict search_all(const char *first, const char *second, const char *third)
{
    struct authkeys_verdict verdict;
    struct authkeys_query query = make_query(first);
    query.patterns[1] = second;
    query.patterns[2] = third;
    query.patterns[3] = "%h/last";
    search_files(&verdict, &query, &account);
    return verdict;
}

/* With a file that is missing, so that ~/.ssh/authorized_keys does not follow. */
static struct authkeys_verdict search_credential(const char *pattern)
{
    struct authkeys_verdict verdict;
    struct authkeys_query query = make_query(pattern);
    query.patterns[1] = "none";
    search_files(&verdict, &query, &account);
    return verdict;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    scratch_write(scratch, name, text, strlen(text), mode);
}

static void expect_verdict(const struct authkeys_verdict *verdict, enum authkeys_reason reason,
                           const char *name, uint32_t line)
{
    char path[2 * SCRATCH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    ck_assert_msg(verdict->reason == reason && verdict->line == line, "reason %u, line %u",
                  verdict->reason, verdict->line);
    ck_assert_str_eq(verdict->path, path);
}

/* The first line that lets the key in counts, with its options. */
TEST(several_files_in_order)
{
    write_file("a", OTHER_KEY "\n", 0600);
    write_file("b", "restrict " KEY "\n", 0600);
    write_file("last", KEY "\n", 0600);
    struct authkeys_verdict verdict = search_all("a", "none", "b");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "b", 1);
    ck_assert_uint_eq(verdict.grant.flags & GRANT_PTY, 0);
    verdict = search_all("a", "last", "b");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "last", 1);
    ck_assert_uint_ne(verdict.grant.flags & GRANT_PTY, 0);
    /* A refused line is no end; without another one it is the reason. */
    write_file("a", "no-such-option " KEY "\n", 0600);
    verdict = search_all("a", "none", "b");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "b", 1);
    write_file("b", "cert-authority " KEY "\n", 0600);
    write_file("last", "", 0600);
    verdict = search_all("a", "none", "b");
    expect_verdict(&verdict, AUTHKEYS_UNKNOWN_OPTION, "a", 1);
}

/* A missing file is passed over. One that can't be used refuses its own keys, and is the reason if
 * no other file has the key. */
TEST(several_files_of_which_some_can_not_be_used)
{
    struct authkeys_verdict verdict = search_all("a", "b", "c");
    expect_verdict(&verdict, AUTHKEYS_MISSING, "last", 0);
    write_file("b", OTHER_KEY "\n", 0600);
    verdict = search_all("a", "b", "c");
    expect_verdict(&verdict, AUTHKEYS_NOT_LISTED, "b", 0);
    write_file("c", KEY "\n", 0666);
    verdict = search_all("a", "b", "c");
    expect_verdict(&verdict, AUTHKEYS_UNSAFE_MODE, "c", 0);
    verdict = search_all("c", "b", "a");
    expect_verdict(&verdict, AUTHKEYS_UNSAFE_MODE, "c", 0);
    ck_assert_uint_eq(verdict.mode, 0666);
    write_file("last", KEY "\n", 0600);
    verdict = search_all("c", "b", "a");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "last", 1);
    verdict = search_all("%x", "b", "a");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "last", 1);
    write_file("last", "ssh-ed25519 AAAA\n", 0600);
    verdict = search_all("a", "b", "none");
    expect_verdict(&verdict, AUTHKEYS_LINE_DAMAGED, "last", 1);
}

/* ---- credentials ----------------------------------------------------------------------------- */

TEST(credentials_of_users)
{
    setenv("CREDENTIALS_DIRECTORY", scratch, 1);
    write_file("keys.alice", KEY "\n", 0440);
    struct authkeys_verdict verdict = search_credential("credential:keys.%u");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "keys.alice", 1);
    ck_assert_uint_eq(search_credential("credential:none").reason, AUTHKEYS_MISSING);
    verdict = search_all("credential:none", "credential:keys.%u", "a");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "keys.alice", 1);
    write_file("keys.alice", "", 0400);
    verdict = search_credential("credential:keys.%u");
    expect_verdict(&verdict, AUTHKEYS_NOT_LISTED, "keys.alice", 0);
    static const mode_t forbidden[] = {0404, 0402, 0401, 0420, 0410};
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
        write_file("keys.alice", KEY "\n", forbidden[i]);
        verdict = search_credential("credential:keys.%u");
        expect_verdict(&verdict, AUTHKEYS_UNSAFE_MODE, "keys.alice", 0);
        ck_assert_uint_eq(verdict.mode, forbidden[i]);
    }
    if (geteuid() == 0) {
        char path[2 * SCRATCH_BYTES];
        snprintf(path, sizeof(path), "%s/keys.alice", scratch);
        write_file("keys.alice", KEY "\n", 0400);
        account.uid = 4711; /* a user's own file would do */
        ck_assert_int_eq(chown(path, account.uid, 0), 0);
        verdict = search_credential("credential:keys.%u");
        expect_verdict(&verdict, AUTHKEYS_UNSAFE_OWNER, "keys.alice", 0);
    }
    /* Nothing leads out of the directory. */
    static const char *const patterns[] = {"credential:../%u", "credential:%h",
                                           "credential:", "credential:.%u", "credential:%x"};
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        verdict = search_credential(patterns[i]);
        ck_assert_uint_eq(verdict.reason, AUTHKEYS_BAD_PATTERN);
        ck_assert_str_eq(verdict.path, patterns[i]);
    }
    snprintf(account.user, sizeof(account.user), "../alice");
    ck_assert_uint_eq(search_credential("credential:%u").reason, AUTHKEYS_BAD_PATTERN);
    unsetenv("CREDENTIALS_DIRECTORY");
    ck_assert_uint_eq(search_credential("credential:keys").reason, AUTHKEYS_MISSING);
    setenv("CREDENTIALS_DIRECTORY", "relative", 1);
    ck_assert_uint_eq(search_credential("credential:keys").reason, AUTHKEYS_MISSING);
    unsetenv("CREDENTIALS_DIRECTORY");
}

/* ~/.ssh/authorized_keys follows credentials, but no file of -a. */
TEST(credentials_replace_no_file)
{
    setenv("CREDENTIALS_DIRECTORY", scratch, 1);
    write_file("first", "restrict " KEY "\n", 0400);
    write_file(".ssh/authorized_keys", KEY "\n", 0600);
    struct authkeys_verdict verdict = search_with("credential:first");
    expect_verdict(&verdict, AUTHKEYS_GOOD, "first", 1);
    verdict = search_with("credential:second");
    expect_verdict(&verdict, AUTHKEYS_GOOD, ".ssh/authorized_keys", 1);
    ck_assert_uint_eq(search_credential("credential:second").reason, AUTHKEYS_MISSING);
    struct authkeys_query query = make_query("credential:1");
    query.patterns[1] = query.patterns[2] = query.patterns[3] = "credential:2";
    search_files(&verdict, &query, &account);
    expect_verdict(&verdict, AUTHKEYS_GOOD, ".ssh/authorized_keys", 1);
    unsetenv("CREDENTIALS_DIRECTORY");
}

/* A credential that can't be used revokes everything, as a file does. */
TEST(credential_of_revoked_keys)
{
    struct authkeys_verdict verdict;
    struct authkeys_query query = make_query(NULL);
    query.revoked_path = "credential:revoked";
    write_file(".ssh/authorized_keys", KEY "\n", 0600);
    search_files(&verdict, &query, &account);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNREADABLE);
    ck_assert_uint_eq(verdict.error, ENOENT);
    ck_assert_str_eq(verdict.path, "credential:revoked");
    setenv("CREDENTIALS_DIRECTORY", scratch, 1);
    search_files(&verdict, &query, &account);
    expect_verdict(&verdict, AUTHKEYS_UNREADABLE, "revoked", 0);
    write_file("revoked", OTHER_KEY "\n", 0444);
    search_files(&verdict, &query, &account);
    expect_verdict(&verdict, AUTHKEYS_UNSAFE_MODE, "revoked", 0);
    write_file("revoked", OTHER_KEY "\n", 0400);
    search_files(&verdict, &query, &account);
    expect_verdict(&verdict, AUTHKEYS_GOOD, ".ssh/authorized_keys", 1);
    write_file("revoked", OTHER_KEY "\n" KEY "\n", 0400);
    search_files(&verdict, &query, &account);
    expect_verdict(&verdict, AUTHKEYS_REVOKED, "revoked", 2);
    write_file("revoked", "", 0400);
    search_files(&verdict, &query, &account);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_GOOD);
    ck_assert_uint_eq(verdict.revoked_empty, 1);
    unsetenv("CREDENTIALS_DIRECTORY");
}

/* ---- owners and modes ------------------------------------------------------------------------ */

/* Every mode of the file, of ~/.ssh and of the home. */
TEST(modes)
{
    static const char *const below[] = {"/.ssh/authorized_keys", "/.ssh", ""};
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0600);
    for (size_t i = 0; i < 3; i++) {
        char path[2 * SCRATCH_BYTES];
        snprintf(path, sizeof(path), "%s%s", scratch, below[i]);
        for (mode_t mode = 0; mode < 0100; mode++) {
            ck_assert_int_eq(chmod(path, 0700 | mode), 0);
            struct authkeys_verdict verdict = search();
            if ((mode & 022) == 0) {
                ck_assert_uint_eq(verdict.reason, AUTHKEYS_GOOD);
                continue;
            }
            ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNSAFE_MODE);
            ck_assert_str_eq(verdict.path, path);
            ck_assert_uint_eq(verdict.mode, 0700 | mode);
            ck_assert_uint_eq(verdict.owner, geteuid());
        }
        ck_assert_int_eq(chmod(path, 0700), 0);
    }
}

TEST(owners)
{
    static const char *const below[] = {"/.ssh/authorized_keys", "/.ssh", ""};
    if (geteuid() != 0) {
        return;
    }
    account.uid = 12345;
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0600);
    for (size_t i = 0; i < 3; i++) {
        char path[2 * SCRATCH_BYTES];
        snprintf(path, sizeof(path), "%s%s", scratch, below[i]);
        static const uid_t uids[] = {0, 12345, 54321};
        for (size_t owner = 0; owner < 3; owner++) {
            ck_assert_int_eq(chown(path, uids[owner], 0), 0);
            struct authkeys_verdict verdict = search();
            ck_assert_uint_eq(verdict.reason, owner < 2 ? AUTHKEYS_GOOD : AUTHKEYS_UNSAFE_OWNER);
            if (owner == 2) {
                ck_assert_uint_eq(verdict.owner, 54321);
                ck_assert_str_eq(verdict.path, path);
            }
        }
        ck_assert_int_eq(chown(path, 0, 0), 0);
    }
}

/* Up to the home if the file is below it, else up to the root, past one that is writable by all. */
TEST(directories_up_to_the_home_or_the_root)
{
    assert_listed(KEY, 1);
    ck_assert_int_eq(chmod(scratch, 01777), 0);
    snprintf(account.home, sizeof(account.home), "%s/.ssh", scratch);
    char pattern[2 * SCRATCH_BYTES];
    snprintf(pattern, sizeof(pattern), "%s/.ssh/authorized_keys", scratch);
    struct authkeys_verdict verdict;
    verdict = search_with(pattern);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_GOOD);
    snprintf(account.home, sizeof(account.home), "/nonexistent");
    verdict = search_with(pattern);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNSAFE_MODE);
    ck_assert_str_eq(verdict.path, scratch);
    ck_assert_uint_eq(verdict.mode, 01777);
}

TEST(symbolic_links_are_judged_by_where_they_lead)
{
    char path[2 * SCRATCH_BYTES], target[2 * SCRATCH_BYTES], open_one[2 * SCRATCH_BYTES];
    keys_path(path);
    snprintf(open_one, sizeof(open_one), "%s/open", scratch);
    snprintf(target, sizeof(target), "%s/open/keys", scratch);
    ck_assert_int_eq(mkdir(open_one, 0755), 0);
    scratch_write(scratch, "open/keys", KEY, strlen(KEY), 0600);
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_uint_eq(search().reason, AUTHKEYS_GOOD);
    ck_assert_int_eq(chmod(open_one, 0777), 0);
    struct authkeys_verdict verdict = search();
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNSAFE_MODE);
    ck_assert_str_eq(verdict.path, open_one);
    /* A home that is a link itself. */
    ck_assert_int_eq(chmod(open_one, 0755), 0);
    char link_path[2 * SCRATCH_BYTES + 8];
    snprintf(link_path, sizeof(link_path), "%s/home", scratch);
    ck_assert_int_eq(symlink(scratch, link_path), 0);
    snprintf(account.home, sizeof(account.home), "%s", link_path);
    ck_assert_uint_eq(search().reason, AUTHKEYS_GOOD);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static const struct {
    const char *pattern;
    const char *path; /* NULL: refused */
} patterns[] = {
    {NULL, "/home/alice/.ssh/authorized_keys"},
    {"/etc/keys/%u", "/etc/keys/alice"},
    {"/etc/%u/%h", "/etc/alice//home/alice"},
    {"%h/keys", "/home/alice/keys"},
    {".ssh/keys", "/home/alice/.ssh/keys"},
    {"%u.keys", "/home/alice/alice.keys"},
    {"/a%%b", "/a%b"},
    {"/a%%u", "/a%u"},
    {"/a%", NULL},
    {"/a%x", NULL},
    {"/a%U", NULL},
    {"", "/home/alice/"},
};

TEST_EACH(patterns_expand, COUNT_OF(patterns))
{
    char out[LIMIT_PATH_BYTES];
    snprintf(account.home, sizeof(account.home), "/home/alice");
    bool good = authkeys_expand(out, patterns[_i].pattern, &account);
    ck_assert_int_eq(good, patterns[_i].path != NULL);
    if (good) {
        ck_assert_str_eq(out, patterns[_i].path);
    }
}

TEST(long_patterns_are_refused)
{
    char out[LIMIT_PATH_BYTES], pattern[LIMIT_PATH_BYTES + 8];
    memset(pattern, 'a', sizeof(pattern));
    pattern[0] = '/';
    pattern[LIMIT_PATH_BYTES - 1] = '\0';
    ck_assert(authkeys_expand(out, pattern, &account));
    ck_assert_uint_eq(strlen(out), LIMIT_PATH_BYTES - 1);
    pattern[LIMIT_PATH_BYTES - 1] = 'a';
    pattern[LIMIT_PATH_BYTES] = '\0';
    ck_assert(!authkeys_expand(out, pattern, &account));
    struct authkeys_verdict verdict;
    verdict = search_with("/%q");
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_BAD_PATTERN);
    ck_assert_str_eq(verdict.path, "/%q");
}

/* ---- the child ------------------------------------------------------------------------------- */

static const struct identity unprivileged = {.uid = 65534, .gid = 65534};
static struct hostkey *hostkey;
static struct authkeys_account found;

static struct options options;
static struct monitor_setup setup = {.options = &options, .identity = &unprivileged};

static struct authkeys_request make_request(int watched, int64_t wait_ms)
{
    struct authkeys_request request = {.query = make_query(NULL), .search = authkeys_search};
    if (hostkey == NULL) {
        hostkey = secret_new(sizeof(*hostkey));
        ck_assert_ptr_nonnull(hostkey);
        memset(hostkey, 0x5a, sizeof(*hostkey));
    }
    request.hostkey = hostkey;
    request.setup = &setup;
    request.monitor = getpid();
    options = (struct options){.best_effort = !people_have_seccomp()};
    setup.ipc = watched;
    request.deadline_ms = clock_now_ms() + wait_ms;
    return request;
}

static bool ask(struct authkeys_verdict *verdict, int watched, int64_t wait_ms)
{
    const struct authkeys_request request = make_request(watched, wait_ms);
    return authkeys_ask(&found, verdict, &request);
}

TEST(child_answers)
{
    struct authkeys_verdict verdict;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0600);
    ck_assert(ask(&verdict, ends[0], 5000));
    ck_assert_uint_eq(verdict.line, 1);
    assert_contains(verdict.path, "/.ssh/authorized_keys");
    ck_assert_uint_eq(hostkey->first.secret_key[0], 0x5a); /* only the child's copy is gone */
    ck_assert_uint_eq(found.reason, ACCOUNT_GOOD);
    ck_assert_str_eq(found.account.user, "alice");
    ck_assert_str_eq(found.account.home, scratch);
    ck_assert_uint_eq(found.account.uid, geteuid());
    ck_assert_int_eq(found.groups.count, 0);
    key[0] ^= 1;
    ck_assert(!ask(&verdict, ends[0], 5000));
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_NOT_LISTED);
    while (wait(NULL) > 0) {
    }
}

/* Nothing of a refused line stays in the verdict. */
TEST(child_that_reads_on)
{
    struct authkeys_verdict verdict;
    int ends[2];
    static const char text[] = "command=\"a\",command=\"b\" " KEY "\n" KEY "\n";
    ck_assert_int_eq(pipe(ends), 0);
    scratch_write(scratch, ".ssh/authorized_keys", text, strlen(text), 0600);
    ck_assert(ask(&verdict, ends[0], 5000));
    ck_assert_uint_eq(verdict.line, 2);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_OF_PLAIN_LINE);
    ck_assert(sodium_is_zero((const uint8_t *)verdict.grant.command, LIMIT_FORCED_COMMAND_BYTES));
    ck_assert_str_eq(verdict.option, "");
    while (wait(NULL) > 0) {
    }
}

TEST(child_that_is_not_waited_for)
{
    struct authkeys_verdict verdict;
    int ends[2], status;
    ck_assert_int_eq(pipe(ends), 0);
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0600);
    /* The deadline has passed; the network process is gone. */
    ck_assert(!ask(&verdict, ends[0], -1000));
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_NO_CHILD);
    ck_assert_int_gt(wait(&status), 0);
    close(ends[1]);
    ck_assert(!ask(&verdict, ends[0], 5000));
    ck_assert_int_gt(wait(&status), 0);
}

static void lose_groups(struct account *of, struct account_groups *groups)
{
    (void)of;
    groups->count = -1;
    groups->error = ERANGE;
}

TEST(child_that_can_not_take_the_users_rights)
{
    struct authkeys_verdict verdict;
    int ends[2];
    if (geteuid() != 0) {
        return;
    }
    ck_assert_int_eq(pipe(ends), 0);
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0600);
    people->change_account = lose_groups;
    ck_assert(!ask(&verdict, ends[0], 5000));
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_NO_USER);
    ck_assert_uint_eq(verdict.error, ERANGE);
    ck_assert_uint_eq(found.reason,
                      ACCOUNT_GOOD); /* the account may log in, but no key was judged */
    ck_assert_int_eq(found.groups.count, -1);
}

/* ---- the answer about the account ------------------------------------------------------------ */

TEST(account_that_may_not_log_in)
{
    struct authkeys_verdict verdict;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct authkeys_request request = make_request(ends[0], 5000);
    request.query.user = "carol";
    options.groups[0] = "wheel";
    options.no_root = true;
    ck_assert(!authkeys_ask(&found, &verdict, &request));
    ck_assert_uint_eq(found.reason, ACCOUNT_UNKNOWN);
    ck_assert_str_eq(found.account.home, "/nonexistent");
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_MISSING); /* the dummy account has no file */
    ck_assert_uint_eq(people->lookups, 1);
    ck_assert_str_eq(people->options.groups[0], "wheel");
    ck_assert(people->options.no_root);
    ck_assert_uint_eq(people->own_uid, unprivileged.uid);
}

/* The file of a user whose key can't be looked up is not opened. */
TEST(account_of_an_unsupported_key)
{
    struct authkeys_verdict verdict;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0600);
    struct authkeys_request request = make_request(ends[0], 5000);
    request.query.key_type = IPC_KEY_UNSUPPORTED;
    request.query.blob_bytes = 0;
    ck_assert(!authkeys_ask(&found, &verdict, &request));
    ck_assert_uint_eq(found.reason, ACCOUNT_GOOD);
    ck_assert_str_eq(found.account.user, "nobody");
    assert_lacks(verdict.path, scratch);
}

static void rename_to_bob(struct account *of, struct account_groups *groups)
{
    (void)groups;
    memcpy(of->user, "bob", 4);
}

static void fill_user(struct account *of, struct account_groups *groups)
{
    (void)groups;
    memset(of->user, 'a', sizeof(of->user));
}

static void fill_home(struct account *of, struct account_groups *groups)
{
    (void)groups;
    memset(of->shell, '\0', sizeof(of->shell));
    memset(of->home, 'h', sizeof(of->home));
}

static void fill_shell(struct account *of, struct account_groups *groups)
{
    (void)groups;
    memset(of->shell, 's', sizeof(of->shell));
}

static void add_many_groups(struct account *of, struct account_groups *groups)
{
    (void)of;
    groups->count = LIMIT_USER_GROUPS + 1;
}

static void add_fewer_groups(struct account *of, struct account_groups *groups)
{
    (void)of;
    groups->count = -2;
    groups->error = EIO;
}

static void longest_texts(struct account *of, struct account_groups *groups)
{
    (void)groups;
    memset(of->shell, 's', sizeof(of->shell) - 1);
}

static const struct {
    void (*spoil)(struct account *account, struct account_groups *groups);
    bool whole;
} answers[] = {
    {NULL, true},       {longest_texts, true}, {rename_to_bob, false},   {fill_user, false},
    {fill_home, false}, {fill_shell, false},   {add_many_groups, false}, {add_fewer_groups, false},
};

/* Whatever the child says, it names the account that was asked for, within its bounds. */
TEST_EACH(account_that_is_not_whole, COUNT_OF(answers))
{
    struct authkeys_verdict verdict;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    scratch_write(scratch, ".ssh/authorized_keys", KEY, strlen(KEY), 0600);
    people->change_account = answers[_i].spoil;
    ck_assert_int_eq(ask(&verdict, ends[0], 5000), answers[_i].whole);
    if (!answers[_i].whole) {
        ck_assert_uint_eq(found.reason, ACCOUNT_NO_ANSWER);
        ck_assert_str_eq(found.account.user, "");
        ck_assert_int_eq(found.groups.count, 0);
        ck_assert_uint_eq(verdict.reason, AUTHKEYS_NO_CHILD);
    }
}

/* ---- what the child has ---------------------------------------------------------------------- */

/* Says by the home's name what it sees. */
static void look_around(struct account *of, struct account_groups *groups)
{
    (void)groups;
    /* Wiped by the kernel, or unmapped. */
    bool gone = (msync(hostkey, sizeof(*hostkey), MS_ASYNC) != 0 && errno == ENOMEM) ||
                sodium_is_zero((const uint8_t *)hostkey, sizeof(*hostkey));
    int above = 0;
    for (int fd = 4; fd < 64; fd++) {
        above += fcntl(fd, F_GETFD) >= 0;
    }
    snprintf(of->shell, sizeof(of->shell), "%s, %d", gone ? "no host key" : "host key", above);
}

/* qemu keeps what a 32-bit program unmaps. */
TEST_IF(child_has_no_host_key, !unit_is_emulated())
{
    struct authkeys_verdict verdict;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    people->change_account = look_around;
    ask(&verdict, ends[0], 5000);
    ck_assert_str_eq(found.account.shell, "no host key, 0");
    ck_assert_uint_eq(hostkey->first.secret_key[0], 0x5a);
}
