/*
 * A key or a certificate, judged by whole files. The files are split into lines a second time in
 * memory, and the lines are judged one by one: the first that lets the key in counts, otherwise the
 * first that lists it. Reading the files in pieces of any size, with interruptions, must give the
 * same verdict to the byte. A file that can't be read to its end must let nobody in whom the whole
 * file keeps out.
 *
 * Input: a byte of circumstances; pieces (a length and the bytes, support/memory_file.h); the key's
 * number, or the fields of a certificate (support/certified.h); the files of -c and -R (two bytes
 * of length each) and the user's files. 0xfe in a file stands for the key, or for the authority.
 * 0xfd starts the user's next file. One without a byte that is not the last is missing; one that
 * begins with 0xfc belongs to somebody else.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authkeys.h"
#include "authkeys_internal.h"
#include "certified.h"
#include "ipc.h"
#include "memory_file.h"

#define FILE_BYTES 65536

enum { AUTHORITIES, REVOKED_KEYS, USERS, FILES = USERS + LIMIT_KEY_FILES };

struct scene {
    struct authkeys_query query;
    struct account account;
    struct input files[FILES];
    unsigned users;                               /* how many */
    enum authkeys_reason faults[LIMIT_KEY_FILES]; /* AUTHKEYS_GOOD for none */
    struct input pieces;
    uint8_t blob[CERTIFIED_BYTES];
    bool has_authorities, has_revoked;
};

static const char *const users_paths[] = {"/users", "/users1", "/users2", "/users3", "/users4"};

static void open_files(struct authkeys_files *files, const struct scene *scene, struct input pieces,
                       int broken, size_t offset)
{
    int fds[FILES];
    for (unsigned i = 0; i < FILES; i++) {
        fds[i] = memory_file_open(i, scene->files[i], pieces);
        if ((int)i == broken) {
            memory_file_break(fds[i], offset);
        }
    }
    memset(files, 0, sizeof(*files));
    files->authorities.path = scene->has_authorities ? "/authorities" : NULL;
    files->authorities.fd = fds[AUTHORITIES];
    files->revoked.path = scene->has_revoked ? "/revoked" : NULL;
    files->revoked.fd = fds[REVOKED_KEYS];
    for (unsigned i = 0; i < scene->users; i++) {
        files->users[i].reason = scene->faults[i];
        files->users[i].fd = scene->faults[i] == AUTHKEYS_GOOD ? fds[USERS + i] : -1;
        files->users[i].path = users_paths[i];
    }
}

static void run(struct authkeys_verdict *verdict, const struct scene *scene, struct input pieces,
                int broken, size_t offset)
{
    static struct authkeys_files files;
    open_files(&files, scene, pieces, broken, offset);
    memset(verdict, 0xa5, sizeof(*verdict));
    authkeys_search(verdict, &scene->query, &scene->account, &files);
    FUZZ_CHECK(memory_files_open() == FILES);
}

/* ---- the second opinion ---------------------------------------------------------------------- */

struct opinion {
    const struct scene *scene;
    struct certificate certificate;
    struct key_text key, authority;
    bool certified, read, over;
    bool revoked_empty;  /* the list names nothing */
    bool has_authority;  /* a line names an authority whose type is taken */
    uint32_t other_line; /* the first that names one of another type, or 0 */
    const char *other_path;
    char other_type[AUTHKEYS_OPTION_BYTES];
    enum authkeys_reason reason;
    uint32_t line, flags;
    const char *path;
    char option[AUTHKEYS_OPTION_BYTES];
};

/* An authority's line of the -c file, or one with cert-authority. */
static void note_authority(struct opinion *opinion, struct reader name, const char *path,
                           uint32_t number)
{
    const struct input type = {name.bytes, name.left};
    bool certificate;
    enum second_type which = second_type(type, &certificate);
    if (which == SECOND_OTHER && opinion->other_line == 0) {
        opinion->other_line = number;
        opinion->other_path = path;
        memcpy(opinion->other_type, type.at,
               type.left < AUTHKEYS_OPTION_BYTES ? type.left : AUTHKEYS_OPTION_BYTES - 1);
    }
    opinion->has_authority = opinion->has_authority || which == SECOND_OURS;
}

/* Looks for the offer among the revoked, when a line lets it in. */
static void look_among_revoked(struct opinion *opinion)
{
    const struct revoked_offer offer = {
        .key = &opinion->key,
        .authority = opinion->certified ? &opinion->authority : NULL,
        .certificate = opinion->certified ? &opinion->certificate : NULL,
    };
    int fd = memory_file_open(REVOKED_KEYS, opinion->scene->files[REVOKED_KEYS],
                              (struct input){NULL, 0});
    uint32_t line;
    const char *section;
    enum revoked revoked = revoked_look(fd, &offer, &line, &section);
    opinion->revoked_empty = revoked == REVOKED_EMPTY;
    if (revoked != REVOKED_NOT && revoked != REVOKED_EMPTY) {
        opinion->over = true;
        opinion->reason = revoked == REVOKED          ? AUTHKEYS_REVOKED
                          : revoked == REVOKED_BROKEN ? AUTHKEYS_REVOKED_BROKEN
                          : revoked == REVOKED_CUT    ? AUTHKEYS_REVOKED_CUT
                          : revoked == REVOKED_RETURN ? AUTHKEYS_REVOKED_RETURN
                                                      : AUTHKEYS_REVOKED_UNSUPPORTED;
        memset(opinion->option, 0, sizeof(opinion->option));
        strcpy(opinion->option, section);
        opinion->line = line;
        opinion->path = "/revoked";
    }
}

/* Reads the offer when it is first needed. */
static void open_offer(struct opinion *opinion)
{
    const struct authkeys_query *query = &opinion->scene->query;
    bool sk = query->key_type == IPC_KEY_SK_ED25519 || query->key_type == IPC_KEY_SK_ED25519_CERT;
    struct key key = {.sk = false};
    opinion->read = true;
    if (opinion->certified
            ? !certificate_read(&opinion->certificate, sk, query->blob, query->blob_bytes)
            : !key_read(&key, reader_over(query->blob, query->blob_bytes)) || key.sk != sk) {
        struct input authority = {opinion->certificate.authority_type.bytes,
                                  opinion->certificate.authority_type.left};
        opinion->over = true;
        opinion->reason = AUTHKEYS_BAD_KEY;
        bool certificate;
        if (opinion->certified && second_type(authority, &certificate) == SECOND_OTHER) {
            opinion->reason = AUTHKEYS_AUTHORITY_TYPE;
            memcpy(opinion->option, authority.at,
                   authority.left < AUTHKEYS_OPTION_BYTES ? authority.left
                                                          : AUTHKEYS_OPTION_BYTES - 1);
        }
        return;
    }
    key_write_text(&opinion->key, opinion->certified ? &opinion->certificate.key : &key);
    if (opinion->certified) {
        key_write_text(&opinion->authority, &opinion->certificate.authority);
    }
}

static enum authkeys_reason judge(struct opinion *opinion, bool users, struct reader options,
                                  char option[static AUTHKEYS_OPTION_BYTES])
{
    static struct grant grant;
    const struct authkeys_query *query = &opinion->scene->query;
    const struct certificate *certificate = opinion->certified ? &opinion->certificate : NULL;
    struct authkeys_line_terms terms = {.is_authority = true};
    enum authkeys_reason reason = AUTHKEYS_GOOD;
    memset(&grant, 0, sizeof(grant));
    grant.flags = GRANT_PTY | GRANT_USER_RC | GRANT_UNTOUCHED;
    if (users) {
        reason = authkeys_options_of_line(&grant, &terms, option, options, query, certificate);
    } else if (options.left > 0) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    if (reason == AUTHKEYS_GOOD && terms.is_authority != opinion->certified) {
        return terms.is_authority ? AUTHKEYS_FOR_AUTHORITY : AUTHKEYS_NO_AUTHORITY;
    }
    if (reason == AUTHKEYS_GOOD && opinion->certified) {
        bool named = terms.has_principals ? terms.names_principal
                                          : certificate_names(&opinion->certificate, "alice");
        reason = certificate_narrow(&grant, option, certificate, query);
        reason = reason == AUTHKEYS_GOOD && !named ? AUTHKEYS_PRINCIPAL : reason;
    }
    opinion->flags = grant.flags;
    bool forces_sftp =
        (grant.flags & GRANT_FORCED) != 0 &&
        second_is((struct input){(const uint8_t *)grant.command, strcspn(grant.command, " \t")},
                  "internal-sftp");
    bool has_shell = opinion->scene->account.shell[0] != '\0';
    return reason == AUTHKEYS_GOOD && !has_shell && !forces_sftp ? AUTHKEYS_NO_SHELL : reason;
}

/* True if a line lets the key in. */
static bool look(struct opinion *opinion, int which, const char *path, bool *settled)
{
    struct input file = opinion->scene->files[which], text;
    bool too_long;
    for (uint32_t number = 1; !opinion->over && second_line(&file, &text, &too_long); number++) {
        struct key_line line;
        char option[AUTHKEYS_OPTION_BYTES] = "";
        if (number == 1) {
            second_mark(&text);
        }
        bool is_key = !too_long && key_line_read(&line, reader_over(text.at, text.left));
        bool names =
            is_key && (which == AUTHORITIES || authkeys_options_name_authority(line.options));
        if (!opinion->read && names) {
            open_offer(opinion);
        }
        if (!opinion->read || opinion->over) {
            continue;
        }
        if (names && opinion->certified) {
            note_authority(opinion, line.type, path, number);
        }
        if (!is_key ||
            !key_line_lists(&line, opinion->certified ? &opinion->authority : &opinion->key)) {
            enum authkeys_reason fault = too_long ? AUTHKEYS_LINE_TOO_LONG
                                         : is_key ? key_line_fault(&line)
                                                  : AUTHKEYS_NOT_LISTED;
            if (opinion->reason == AUTHKEYS_NOT_LISTED && fault != AUTHKEYS_NOT_LISTED) {
                opinion->reason = fault;
                opinion->line = number;
                opinion->path = path;
            }
            continue;
        }
        enum authkeys_reason reason = judge(opinion, which >= USERS, line.options, option);
        if (reason == AUTHKEYS_GOOD && opinion->scene->has_revoked) {
            look_among_revoked(opinion);
            if (opinion->over) {
                return false;
            }
        }
        if (reason == AUTHKEYS_GOOD || !*settled) {
            opinion->reason = reason;
            opinion->line = number;
            opinion->path = path;
            memcpy(opinion->option, option, sizeof(option));
            *settled = true;
        }
        if (reason == AUTHKEYS_GOOD) {
            memset(opinion->option, 0, sizeof(opinion->option));
            return true;
        }
    }
    return false;
}

static void form_opinion(struct opinion *opinion, const struct scene *scene)
{
    bool settled = false;
    uint32_t type = scene->query.key_type;
    memset(opinion, 0, sizeof(*opinion));
    opinion->scene = scene;
    opinion->path = "";
    opinion->certified = type == IPC_KEY_ED25519_CERT || type == IPC_KEY_SK_ED25519_CERT;
    if (!opinion->certified || scene->has_authorities) {
        open_offer(opinion);
    }
    if (opinion->certified && scene->has_authorities && !opinion->over &&
        look(opinion, AUTHORITIES, "/authorities", &settled)) {
        return;
    }
    if (opinion->over) {
        return;
    }
    if (!settled) {
        opinion->reason = AUTHKEYS_MISSING;
        opinion->path = users_paths[scene->users - 1];
    }
    for (unsigned i = 0; i < scene->users; i++) {
        enum authkeys_reason fault = scene->faults[i];
        bool weak = opinion->reason == AUTHKEYS_MISSING || opinion->reason == AUTHKEYS_NOT_LISTED;
        if (!settled && weak && fault != AUTHKEYS_MISSING) {
            opinion->reason = fault == AUTHKEYS_GOOD ? AUTHKEYS_NOT_LISTED : fault;
            opinion->path = users_paths[i];
        }
        if (fault == AUTHKEYS_GOOD && look(opinion, (int)(USERS + i), users_paths[i], &settled)) {
            return;
        }
        if (opinion->over) {
            return;
        }
    }
    if (!opinion->read && opinion->reason == AUTHKEYS_NOT_LISTED) {
        opinion->reason = AUTHKEYS_NO_AUTHORITY;
    }
    if (!settled && !opinion->has_authority && opinion->other_line != 0) {
        opinion->reason = AUTHKEYS_AUTHORITY_TYPE;
        opinion->line = opinion->other_line;
        opinion->path = opinion->other_path;
        memcpy(opinion->option, opinion->other_type, sizeof(opinion->option));
    }
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void check(const struct scene *scene, uint32_t offset)
{
    static struct authkeys_verdict whole, other;
    static struct opinion opinion;
    run(&whole, scene, (struct input){NULL, 0}, -1, 0);
    run(&other, scene, scene->pieces, -1, 0);
    FUZZ_CHECK(memcmp(&whole, &other, sizeof(whole)) == 0);

    form_opinion(&opinion, scene);
    FUZZ_CHECK(whole.reason == opinion.reason);
    FUZZ_CHECK(whole.line == opinion.line);
    FUZZ_CHECK(strcmp(whole.path, opinion.path) == 0);
    FUZZ_CHECK(memcmp(whole.option, opinion.option, sizeof(whole.option)) == 0);
    FUZZ_CHECK(whole.revoked_empty == opinion.revoked_empty);
    if (whole.reason == AUTHKEYS_GOOD) {
        FUZZ_CHECK(whole.grant.flags == opinion.flags);
        FUZZ_CHECK(memcmp(whole.grant.fingerprint, opinion.key.fingerprint, 32) == 0);
        FUZZ_CHECK(memcmp(whole.grant.authority, opinion.authority.fingerprint, 32) == 0);
        FUZZ_CHECK(whole.grant.serial == opinion.certificate.serial);
    } else {
        FUZZ_CHECK(whole.grant.flags == 0 && whole.grant.command_bytes == 0 &&
                   whole.grant.environment_bytes == 0);
    }

    int broken = (int)(offset % FILES);
    if (scene->files[broken].left > 0) {
        run(&other, scene, scene->pieces, broken, offset % scene->files[broken].left);
        /* What the authorities' file or one of the user's does not say any more, the next may. */
        bool next = broken == AUTHORITIES ||
                    (broken >= USERS && strcmp(whole.path, users_paths[broken - USERS]) == 0);
        FUZZ_CHECK(other.reason != AUTHKEYS_GOOD ||
                   (whole.reason == AUTHKEYS_GOOD && (whole.line == other.line || next)));
    }
}

static void explain(struct authkeys_verdict *verdict, struct authkeys_report *report,
                    const struct scene *scene, struct input pieces)
{
    static struct authkeys_files files;
    open_files(&files, scene, pieces, -1, 0);
    memset(verdict, 0, sizeof(*verdict));
    memset(report, 0, sizeof(*report));
    authkeys_explain(verdict, report, &scene->query, &scene->account, &files);
    FUZZ_CHECK(memory_files_open() == FILES);
}

static bool is_in_file(const struct authkeys_finding *finding, const struct authkeys_verdict *login)
{
    const char *path =
        finding->file == LIMIT_KEY_FILES ? "/authorities" : users_paths[finding->file];
    return login->line == finding->line && strcmp(login->path, path) == 0;
}

/* About a line of the user's files that the login has named too, both say the same. A key is let in
 * if and only if one of its lines is good, or the last that fits may stand for it. */
static void compare_finding(const struct authkeys_finding *finding,
                            const struct authkeys_verdict *login)
{
    bool same = memcmp(finding->fingerprint, login->grant.fingerprint, 32) == 0;
    if (same && finding->reason == AUTHKEYS_REVOKED) {
        FUZZ_CHECK(login->reason != AUTHKEYS_GOOD); /* another reason may come first */
        return;
    }
    FUZZ_CHECK(!same || login->reason != AUTHKEYS_REVOKED);
    FUZZ_CHECK(!same || finding->reason != AUTHKEYS_GOOD || login->reason == AUTHKEYS_GOOD);
    if (same && is_in_file(finding, login)) {
        if (finding->reason == AUTHKEYS_NO_SHELL && login->reason != AUTHKEYS_NO_SHELL) {
            FUZZ_CHECK(login->reason != AUTHKEYS_GOOD && authkeys_may_work(login->reason));
            return;
        }
        FUZZ_CHECK(login->reason == finding->reason);
        FUZZ_CHECK(finding->reason == AUTHKEYS_FOR_AUTHORITY ||
                   memcmp(login->option, finding->option, sizeof(login->option)) == 0);
    }
}

/* The same about the line of an authority, unless the certificate decides. */
static void compare_authority(const struct authkeys_finding *finding,
                              const struct authkeys_verdict *login)
{
    if (sodium_is_zero(finding->fingerprint, 32) ||
        memcmp(finding->fingerprint, login->grant.authority, 32) != 0 ||
        !is_in_file(finding, login) || finding->reason == AUTHKEYS_REVOKED ||
        finding->reason == AUTHKEYS_FOR_AUTHORITY || finding->reason == AUTHKEYS_NO_SHELL) {
        return;
    }
    FUZZ_CHECK(login->reason ==
               (finding->reason == AUTHKEYS_GOOD ? AUTHKEYS_NO_AUTHORITY : finding->reason));
    FUZZ_CHECK(memcmp(login->option, finding->option, sizeof(login->option)) == 0);
}

/* What -T says about each line: the numbers grow, and it does not matter how the files are read. */
static void check_lines(const struct scene *scene)
{
    static struct authkeys_verdict verdict, other, login;
    static struct authkeys_report report, second;
    uint32_t type = scene->query.key_type;
    uint32_t number = 0, file = 0;
    explain(&verdict, &report, scene, (struct input){NULL, 0});
    explain(&other, &second, scene, scene->pieces);
    FUZZ_CHECK(memcmp(&verdict, &other, sizeof(verdict)) == 0);
    FUZZ_CHECK(memcmp(&report, &second, offsetof(struct authkeys_report, given)) == 0);
    run(&login, scene, (struct input){NULL, 0}, -1, 0);
    bool plain =
        (type == IPC_KEY_ED25519 || type == IPC_KEY_SK_ED25519) && login.reason != AUTHKEYS_BAD_KEY;
    bool listed = false;
    FUZZ_CHECK(report.count <= LIMIT_EXPLAINED_LINES);
    FUZZ_CHECK(report.more == 0 || report.count == LIMIT_EXPLAINED_LINES);
    if (strcmp(verdict.path, "/revoked") == 0) {
        FUZZ_CHECK(verdict.reason > AUTHKEYS_REVOKED);
        FUZZ_CHECK(report.count == 0 && (!plain || login.reason != AUTHKEYS_GOOD));
        return;
    }
    FUZZ_CHECK(verdict.reason == AUTHKEYS_NOT_LISTED || verdict.reason == AUTHKEYS_MISSING ||
               verdict.reason == AUTHKEYS_UNSAFE_OWNER);
    for (uint32_t i = 0; i < report.count; i++) {
        const struct authkeys_finding *finding = &report.findings[i];
        FUZZ_CHECK(finding->reason >= AUTHKEYS_GOOD && finding->reason <= AUTHKEYS_REVOKED);
        FUZZ_CHECK(finding->file >= file && finding->file <= LIMIT_KEY_FILES);
        FUZZ_CHECK(finding->file > file || finding->line > number);
        number = finding->line;
        file = finding->file;
        compare_authority(finding, &login);
        if (plain && file < LIMIT_KEY_FILES) {
            compare_finding(finding, &login);
            listed = listed || (is_in_file(finding, &login) && finding->reason == AUTHKEYS_GOOD);
        }
    }
    FUZZ_CHECK(!plain || login.reason != AUTHKEYS_GOOD || listed || report.more > 0);
}

/* ---- the input ------------------------------------------------------------------------------- */

static void make_offer(struct scene *scene, struct input *input, char *line, size_t line_bytes)
{
    struct fields blob = FIELDS_IN(scene->blob);
    struct certified_fields fields;
    struct key key = {.application = reader_over("ssh:", 4)};
    struct key_text text;
    uint32_t type = scene->query.key_type;
    uint8_t number = 0;
    if (type == IPC_KEY_ED25519_CERT || type == IPC_KEY_SK_ED25519_CERT) {
        certified_fields_read(&fields, input);
        certified_write(&blob, &fields);
        key.sk = fields.authority_sk;
        number = fields.authority;
    } else {
        key.sk = type == IPC_KEY_SK_ED25519;
        number = input_u8(input);
        certified_put_key(&blob, number & 3, ((number & 4) != 0) != key.sk);
    }
    memcpy(key.public_key, certified_key(number & 3)->public_key, 32);
    key_write_text(&text, &key);
    snprintf(line, line_bytes, "%s %s", text.type, text.base64);
    scene->query.blob = scene->blob;
    scene->query.blob_bytes = blob.used;
}

/* Splits what stands for the user's files. */
static void split_users(struct scene *scene)
{
    struct input rest = scene->files[USERS];
    for (scene->users = 0; scene->users < LIMIT_KEY_FILES; scene->users++) {
        const uint8_t *end = rest.left > 0 ? memchr(rest.at, 0xfd, rest.left) : NULL;
        bool last = end == NULL || scene->users == LIMIT_KEY_FILES - 1;
        size_t count = last ? rest.left : (size_t)(end - rest.at);
        bool unsafe = count > 0 && rest.at[0] == 0xfc;
        scene->files[USERS + scene->users] = input_take(&rest, count);
        scene->faults[scene->users] = unsafe                ? AUTHKEYS_UNSAFE_OWNER
                                      : count == 0 && !last ? AUTHKEYS_MISSING
                                                            : AUTHKEYS_GOOD;
        input_u8(&rest);
        if (last) {
            scene->users++;
            break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scene scene;
    static uint8_t texts[USERS + 1][FILE_BYTES];
    struct input input = {data, size};
    char line[2 * LIMIT_PLAIN_KEY_BYTES];
    memset(&scene, 0, sizeof(scene));
    setenv("TZ", "UTC0", 1);
    uint8_t kind = input_u8(&input);
    scene.pieces = input_take(&input, input_u8(&input));
    scene.has_authorities = (kind & 4) != 0;
    scene.has_revoked = (kind & 8) != 0;
    scene.query = (struct authkeys_query){
        .user = "alice",
        .address = (kind & 16) != 0 ? NULL : "192.0.2.7",
        .now = 1800000000,
        .may_set_environment = (kind & 32) != 0,
        .key_type = 1 + (kind & 3),
    };
    strcpy(scene.account.user, "alice");
    strcpy(scene.account.shell, (kind & 0xc0) == 0xc0 ? "" : "/bin/sh");
    make_offer(&scene, &input, line, sizeof(line));
    for (unsigned i = 0; i <= USERS; i++) {
        uint64_t count = SIZE_MAX;
        if (i != USERS) {
            second_number(&input, 2, &count);
        }
        const struct input part = input_take(&input, (size_t)count);
        scene.files[i] = (struct input){texts[i], second_expand(texts[i], FILE_BYTES, part, line)};
    }
    split_users(&scene);
    check(&scene, (uint32_t)(size * 2654435761U));
    check_lines(&scene);
    return 0;
}
