/* Covers authkeys_explain.c and authkeys_refuse.c. fuzz/authkeys_search.c compares its findings
 * with what logins meet. */
#include "authkeys_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>

#include "scratch.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static struct authkeys_files files;
static struct authkeys_verdict verdict;
static struct authkeys_report *report;
static struct authkeys_query query;
static struct account account;

static void begin(void)
{
    scratch_make(scratch);
    memset(&files, 0, sizeof(files));
    files.users[0].fd = files.authorities.fd = files.revoked.fd = -1;
    files.users[0].path = "/users";
    report =
        mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(report, MAP_FAILED);
    query = (struct authkeys_query){.now = 1800000000};
    snprintf(account.shell, sizeof(account.shell), "/bin/sh");
}

UNIT_FIXTURE(begin, NULL);

/* The line of a key of 32 equal bytes. */
static const char *key_line(uint8_t byte)
{
    static char text[8][768];
    static unsigned turn;
    struct key key = {.sk = false};
    struct key_text written;
    memset(key.public_key, byte, sizeof(key.public_key));
    key_write_text(&written, &key);
    turn = (turn + 1) % 8;
    snprintf(text[turn], sizeof(text[turn]), "%s %s", written.type, written.base64);
    return text[turn];
}

static int file_of(const char *text)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void give_revoked(const char *text)
{
    files.revoked.path = "/revoked";
    files.revoked.fd = file_of(text);
}

static void explain(const char *users)
{
    if (users != NULL) {
        files.users[0].fd = file_of(users);
    }
    memset(&verdict, 0, sizeof(verdict));
    memset(report, 0, sizeof(*report));
    authkeys_explain(&verdict, report, &query, &account, &files);
}

static void expect(uint32_t at, uint32_t line, enum authkeys_reason reason, const char *option)
{
    const struct authkeys_finding *finding = &report->findings[at];
    ck_assert_uint_lt(at, report->count);
    ck_assert_msg(finding->line == line && finding->reason == reason, "%u: line %u, reason %u", at,
                  finding->line, finding->reason);
    ck_assert_str_eq(finding->option, option);
}

/* ---- lines ----------------------------------------------------------------------------------- */

TEST(each_line)
{
    static char text[4096 + LIMIT_AUTHKEYS_LINE_BYTES];
    int used = snprintf(text, sizeof(text),
                        "# a comment\n\n%s\nx %s\nssh-rsa AAAA\ncert-authority ssh-rsa AAAA\n"
                        "cert-authority %s\nfrom=\"192.0.2.1\" %s\nprincipals=\"a\" %s\nnonsense\n"
                        "-----BEGIN OPENSSH PRIVATE KEY-----\nssh-ed25519 AAAA\n",
                        key_line(1), key_line(2), key_line(3), key_line(4), key_line(1));
    memset(text + used, 'x', LIMIT_AUTHKEYS_LINE_BYTES);
    explain(text);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_NOT_LISTED);
    ck_assert_str_eq(verdict.path, "/users");
    ck_assert_uint_eq(report->count, 11);
    ck_assert_uint_eq(report->more, 0);
    expect(0, 3, AUTHKEYS_GOOD, "");
    expect(1, 4, AUTHKEYS_UNKNOWN_OPTION, "x");
    expect(2, 5, AUTHKEYS_LINE_OTHER_TYPE, "ssh-rsa");
    expect(3, 6, AUTHKEYS_AUTHORITY_TYPE, "ssh-rsa");
    expect(4, 7, AUTHKEYS_FOR_AUTHORITY, "cert-authority");
    expect(5, 8, AUTHKEYS_ELSEWHERE, "from");
    expect(6, 9, AUTHKEYS_BROKEN_OPTION, "principals");
    expect(7, 10, AUTHKEYS_LINE_NO_TYPE, "");
    expect(8, 11, AUTHKEYS_LINE_PRIVATE, "");
    expect(9, 12, AUTHKEYS_LINE_DAMAGED, "");
    expect(10, 13, AUTHKEYS_LINE_TOO_LONG, "");
    for (int i = 0; i < 11; i++) {
        bool has_key = i < 2 || (i > 3 && i < 7);
        ck_assert_int_eq(!sodium_is_zero(report->findings[i].fingerprint, 32), has_key);
    }
}

/* A login with a certificate finds the authority after an unknown option, and does not read the
 * options in -c's file. */
TEST(as_a_login_reads_options)
{
    char text[256];
    files.authorities.path = "/authorities";
    snprintf(text, sizeof(text), "x %s\n", key_line(1));
    files.authorities.fd = file_of(text);
    explain("x,cert-authority ssh-rsa AAAA\ncert-authority, ssh-rsa AAAA\n");
    ck_assert_uint_eq(report->count, 3);
    expect(0, 1, AUTHKEYS_AUTHORITY_TYPE, "ssh-rsa");
    expect(1, 2, AUTHKEYS_LINE_BLANK, "");
    expect(2, 1, AUTHKEYS_BROKEN_OPTION, "");
}

/* OpenSSH takes the options before the blank; a login here refuses them. */
TEST(blanks_after_commas)
{
    static char text[4096];
    snprintf(text, sizeof(text), "no-pty, %s\nno-pty,\tno-user-rc %s\nfrom=\"a, b\" %s\n",
             key_line(1), key_line(1), key_line(1));
    explain(text);
    ck_assert_uint_eq(report->count, 3);
    expect(0, 1, AUTHKEYS_LINE_BLANK, "");
    expect(1, 2, AUTHKEYS_LINE_BLANK, "");
    expect(2, 3, AUTHKEYS_ELSEWHERE, "from");
}

/* An account without a shell can only use our SFTP server. A certificate can force it, unless the
 * authority's line forces something else. */
TEST(no_shell)
{
    char text[4096];
    account.shell[0] = '\0';
    snprintf(text, sizeof(text),
             "%s\ncommand=\"internal-sftp -R\" %s\nfrom=\"192.0.2.1\" %s\n"
             "from=\"192.0.2.1\",command=\"internal-sftp\" %s\ncert-authority %s\n"
             "cert-authority,command=\"true\" %s\nx %s\n",
             key_line(1), key_line(2), key_line(3), key_line(4), key_line(5), key_line(6),
             key_line(7));
    files.authorities.path = "/authorities";
    files.authorities.fd = file_of(key_line(1));
    explain(text);
    ck_assert_uint_eq(report->count, 8);
    expect(0, 1, AUTHKEYS_NO_SHELL, "");
    expect(1, 2, AUTHKEYS_GOOD, "");
    expect(2, 3, AUTHKEYS_NO_SHELL, "");
    expect(3, 4, AUTHKEYS_ELSEWHERE, "from");
    expect(4, 5, AUTHKEYS_FOR_AUTHORITY, "cert-authority");
    expect(5, 6, AUTHKEYS_NO_SHELL, "");
    expect(6, 7, AUTHKEYS_UNKNOWN_OPTION, "x");
    expect(7, 1, AUTHKEYS_FOR_AUTHORITY, "cert-authority");
}

/* Without a line there is no finding: the verdict says that no key is listed. */
TEST_EACH(no_line, 2)
{
    explain(_i == 0 ? "" : "# nothing\n\n");
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_NOT_LISTED);
    ck_assert_uint_eq(report->count, 0);
}

static const struct {
    uint32_t good, second; /* lines with a key that may work */
    uint32_t last;         /* the line of the last finding */
} crowds[] = {
    {0, 0, LIMIT_EXPLAINED_LINES},
    {5, LIMIT_EXPLAINED_LINES + 7, LIMIT_EXPLAINED_LINES + 7},
    {LIMIT_EXPLAINED_LINES, LIMIT_EXPLAINED_LINES + 7, LIMIT_EXPLAINED_LINES},
    {LIMIT_EXPLAINED_LINES + 1, LIMIT_EXPLAINED_LINES + 2, LIMIT_EXPLAINED_LINES + 1},
    {LIMIT_EXPLAINED_LINES + 20, 0, LIMIT_EXPLAINED_LINES + 20},
};

/* Of more lines than fit, one that may work is never lost: the result must not be that none does.
 */
TEST_EACH(more_lines_than_fit, COUNT_OF(crowds))
{
    static char text[(LIMIT_EXPLAINED_LINES + 20) * 100];
    size_t used = 0;
    for (uint32_t line = 1; line <= LIMIT_EXPLAINED_LINES + 20; line++) {
        bool good = line == crowds[_i].good || line == crowds[_i].second;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n",
                                 good ? key_line((uint8_t)(line % 256)) : "nonsense");
    }
    explain(text);
    ck_assert_uint_eq(report->count, LIMIT_EXPLAINED_LINES);
    ck_assert_uint_eq(report->more, 20);
    ck_assert_uint_eq(report->findings[LIMIT_EXPLAINED_LINES - 2].line, LIMIT_EXPLAINED_LINES - 1);
    ck_assert_uint_eq(report->findings[LIMIT_EXPLAINED_LINES - 1].line, crowds[_i].last);
}

/* The one that would be kept may be revoked. */
TEST(more_lines_than_fit_and_revoked_ones)
{
    static char text[(LIMIT_EXPLAINED_LINES + 20) * 100];
    const uint32_t good[] = {7, LIMIT_EXPLAINED_LINES, LIMIT_EXPLAINED_LINES + 3,
                             LIMIT_EXPLAINED_LINES + 19};
    char list[1024];
    size_t used = 0;
    for (uint32_t line = 1, next = 0; line <= LIMIT_EXPLAINED_LINES + 20; line++) {
        bool is_good = next < 4 && line == good[next];
        next += is_good ? 1 : 0;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n",
                                 is_good ? key_line((uint8_t)next) : "nonsense");
    }
    snprintf(list, sizeof(list), "%s\n%s\n%s\n", key_line(1), key_line(2), key_line(3));
    give_revoked(list);
    explain(text);
    ck_assert_uint_eq(report->count, LIMIT_EXPLAINED_LINES);
    ck_assert_uint_eq(report->more, 20);
    expect(6, 7, AUTHKEYS_REVOKED, "");
    expect(LIMIT_EXPLAINED_LINES - 4, LIMIT_EXPLAINED_LINES - 3, AUTHKEYS_LINE_NO_TYPE, "");
    expect(LIMIT_EXPLAINED_LINES - 3, good[1], AUTHKEYS_REVOKED, "");
    expect(LIMIT_EXPLAINED_LINES - 2, good[2], AUTHKEYS_REVOKED, "");
    expect(LIMIT_EXPLAINED_LINES - 1, good[3], AUTHKEYS_GOOD, "");
}

/* ---- files ----------------------------------------------------------------------------------- */

TEST(users_file_that_can_not_be_used)
{
    char text[256];
    files.users[0].reason = AUTHKEYS_UNSAFE_MODE;
    files.users[0].owner = 17;
    files.users[0].mode = 0664;
    files.users[0].path = "/home/alice";
    files.authorities.path = "/authorities";
    snprintf(text, sizeof(text), "%s\nrestrict %s\nssh-rsa AAAA\n", key_line(1), key_line(2));
    files.authorities.fd = file_of(text);
    explain(NULL);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNSAFE_MODE);
    ck_assert_uint_eq(verdict.owner, 17);
    ck_assert_uint_eq(verdict.mode, 0664);
    ck_assert_str_eq(verdict.path, "/home/alice");
    ck_assert_uint_eq(report->count, 3);
    expect(0, 1, AUTHKEYS_FOR_AUTHORITY, "cert-authority");
    expect(1, 2, AUTHKEYS_BROKEN_OPTION, "");
    expect(2, 3, AUTHKEYS_AUTHORITY_TYPE, "ssh-rsa");
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(report->findings[i].file, LIMIT_KEY_FILES);
    }
}

/* Lines of all files, and why one can't be used: the first in the verdict, the next as findings. A
 * missing one counts only if nothing else does. */
TEST(several_files_of_the_user)
{
    static const enum authkeys_reason faults[] = {AUTHKEYS_MISSING, AUTHKEYS_UNSAFE_MODE,
                                                  AUTHKEYS_UNSAFE_OWNER};
    static const char *const paths[] = {"/a", "/b", "/c", "/d"};
    for (int i = 0; i < 4; i++) {
        files.users[i] =
            (struct authkeys_file){.path = paths[i], .fd = -1, .owner = 1000 + (uint32_t)i};
        files.users[i].reason = i < 3 ? faults[i] : AUTHKEYS_GOOD;
    }
    files.users[3].fd = file_of(key_line(1));
    files.authorities.path = "/authorities";
    files.authorities.fd = file_of(key_line(2));
    explain(NULL);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNSAFE_MODE);
    ck_assert_str_eq(verdict.path, "/b");
    ck_assert_uint_eq(report->count, 3);
    expect(0, 0, AUTHKEYS_UNSAFE_OWNER, "");
    expect(1, 1, AUTHKEYS_GOOD, "");
    expect(2, 1, AUTHKEYS_FOR_AUTHORITY, "cert-authority");
    ck_assert_uint_eq(report->findings[0].owner, 1002);
    ck_assert_str_eq(report->paths[report->findings[0].file], "/c");
    ck_assert_str_eq(report->paths[report->findings[1].file], "/d");
    ck_assert_str_eq(report->paths[report->findings[2].file], "/authorities");
    files.users[1].reason = AUTHKEYS_MISSING;
    files.users[2].path = NULL;
    files.authorities.path = NULL;
    explain(NULL);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_MISSING);
    ck_assert_str_eq(verdict.path, "/b");
    ck_assert_uint_eq(report->count, 0);
}

TEST(authorities_that_can_not_be_used)
{
    files.authorities = (struct authkeys_file){.path = "/authorities",
                                               .fd = -1,
                                               .reason = AUTHKEYS_UNSAFE_OWNER,
                                               .owner = 18,
                                               .mode = 0640};
    explain(key_line(1));
    ck_assert_uint_eq(report->count, 2);
    expect(0, 1, AUTHKEYS_GOOD, "");
    expect(1, 0, AUTHKEYS_UNSAFE_OWNER, "");
    ck_assert_uint_eq(report->findings[0].file, 0);
    ck_assert_uint_eq(report->findings[1].file, LIMIT_KEY_FILES);
    ck_assert_uint_eq(report->findings[1].owner, 18);
    ck_assert_uint_eq(report->findings[1].mode, 0640);
    files.authorities = (struct authkeys_file){
        .path = "/authorities", .fd = -1, .reason = AUTHKEYS_UNREADABLE, .error = ENOENT};
    explain(key_line(1));
    expect(1, 0, AUTHKEYS_UNREADABLE, "");
    ck_assert_uint_eq(report->findings[1].error, ENOENT);
}

TEST(file_that_can_not_be_read)
{
    files.users[0].fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    explain(NULL);
    ck_assert_uint_eq(report->count, 1);
    expect(0, 0, AUTHKEYS_UNREADABLE, "");
    ck_assert_uint_eq(report->findings[0].error, EISDIR);
}

/* ---- revoked keys ---------------------------------------------------------------------------- */

/* Each line with the key is refused, whatever else is wrong with it; the list is read once. */
TEST(revoked)
{
    char text[512];
    snprintf(text, sizeof(text), "%s\nx %s\n%s\ncert-authority %s\n", key_line(1), key_line(1),
             key_line(2), key_line(3));
    give_revoked(key_line(1));
    explain(text);
    ck_assert_uint_eq(report->count, 4);
    ck_assert_uint_eq(verdict.revoked_empty, 0);
    expect(0, 1, AUTHKEYS_REVOKED, "");
    expect(1, 2, AUTHKEYS_REVOKED, "");
    expect(2, 3, AUTHKEYS_GOOD, "");
    expect(3, 4, AUTHKEYS_FOR_AUTHORITY, "cert-authority");

    char list[512];
    snprintf(list, sizeof(list), "ca: %s\nserial: 1-9\nid: x\n%s\n%s\n%s\n", key_line(1),
             key_line(3), key_line(9), key_line(2));
    give_revoked(list);
    explain(text);
    expect(0, 1, AUTHKEYS_GOOD, "");
    expect(1, 2, AUTHKEYS_UNKNOWN_OPTION, "x");
    expect(2, 3, AUTHKEYS_REVOKED, "");
    expect(3, 4, AUTHKEYS_REVOKED, "");
}

TEST(empty_list)
{
    give_revoked("# none\n");
    explain(key_line(1));
    ck_assert_uint_eq(verdict.revoked_empty, 1);
    expect(0, 1, AUTHKEYS_GOOD, "");
}

/* What can't be read in full revokes all keys, so there is nothing to say about lines. */
TEST(broken_list)
{
    static const struct {
        const char *text;
        enum authkeys_reason reason;
        uint32_t line;
    } lists[] = {{"serial: 1\nnonsense\n", AUTHKEYS_REVOKED_BROKEN, 2},
                 {"# a\rb", AUTHKEYS_REVOKED_RETURN, 1}};
    for (int i = 0; i < 2; i++) {
        give_revoked(lists[i].text);
        explain(key_line(1));
        ck_assert_uint_eq(verdict.reason, lists[i].reason);
        ck_assert_uint_eq(verdict.line, lists[i].line);
        ck_assert_str_eq(verdict.path, "/revoked");
        ck_assert_uint_eq(report->count, 0);
    }
    files.revoked = (struct authkeys_file){
        .path = "/revoked", .fd = -1, .reason = AUTHKEYS_UNSAFE_MODE, .owner = 5, .mode = 0666};
    explain(key_line(1));
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNSAFE_MODE);
    ck_assert_uint_eq(verdict.owner, 5);
    ck_assert_uint_eq(verdict.mode, 0666);
    ck_assert_uint_eq(report->count, 0);
    files.revoked.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    explain(key_line(1));
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_UNREADABLE);
    ck_assert_uint_eq(verdict.error, EISDIR);
    ck_assert_uint_eq(report->count, 0);
}
