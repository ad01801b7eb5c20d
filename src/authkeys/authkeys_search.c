/* The part of authkeys.h that judges keys by lines, in the child that has given up every right. */
#include <errno.h>
#include <string.h>

#include "authkeys.h"
#include "authkeys_line.h"
#include "authkeys_options.h"
#include "authkeys_refuse.h"
#include "certificate.h"
#include "ipc.h"
#include "key.h"
#include "lines.h"
#include "ssh_key_types.h"

struct search {
    const struct authkeys_query *query;
    const struct authkeys_files *files;
    struct authkeys_verdict *verdict;
    struct login_attempt attempt;
    struct certificate certificate;
    struct key_text key;
    struct key_text authority; /* of a certificate */
    bool settled;              /* a line of this key has given a reason */
    bool read;                 /* the offer has been parsed */
    bool over;                 /* the offer is malformed or revoked */
    bool has_authority;        /* a line names an authority of a type that is taken */
    /* The first line with an authority of another type, or 0. Until a line of the offer's authority
     * is judged, the verdict's `option` keeps the type. */
    uint32_t other_line;
    const char *other_path;
};

static void accept(struct search *search, const char *path, uint32_t line)
{
    memset(search->verdict->option, 0, sizeof(search->verdict->option));
    authkeys_refuse(search->verdict, AUTHKEYS_LISTED, path, line);
}

/* ---- the key --------------------------------------------------------------------------------- */

static void describe(struct search *search, const struct key *key)
{
    struct authkeys_verdict *verdict = search->verdict;
    key_write_text(&search->key, key);
    key_write_verifier(&verdict->grant.key, key);
    memcpy(verdict->fingerprint, search->key.fingerprint, sizeof(verdict->fingerprint));
}

static void describe_certificate(struct search *search)
{
    struct authkeys_verdict *verdict = search->verdict;
    const struct reader *id = &search->certificate.key_id;
    key_write_text(&search->authority, &search->certificate.authority);
    memcpy(verdict->authority, search->authority.fingerprint, sizeof(verdict->authority));
    verdict->grant.serial = search->certificate.serial;
    size_t bytes = id->left < LIMIT_KEY_ID_BYTES ? id->left : LIMIT_KEY_ID_BYTES - 1;
    memcpy(verdict->grant.key_id, id->bytes, bytes);
    search->attempt.certificate = &search->certificate;
}

static bool is_certificate(const struct search *search)
{
    return ssh_key_type_is_certificate(search->query->key_type);
}

static bool read_offer(struct search *search)
{
    const struct authkeys_query *query = search->query;
    uint32_t type = query->key_type;
    bool sk = ssh_key_type_is_sk(type);
    struct key key;
    search->read = true;
    if (is_certificate(search)) {
        if (!certificate_read(&search->certificate, sk, query->blob, query->blob_bytes)) {
            return false;
        }
        describe(search, &search->certificate.key);
        describe_certificate(search);
        return true;
    }
    if ((type != IPC_KEY_ED25519 && type != IPC_KEY_SK_ED25519) ||
        !key_read(&key, reader_over(query->blob, query->blob_bytes)) || key.sk != sk) {
        return false;
    }
    describe(search, &key);
    return true;
}

/* ---- revocation ------------------------------------------------------------------------------ */

static bool is_revoked(struct search *search)
{
    const struct revoked_offer offer = {
        .key = &search->key,
        .authority = search->attempt.certificate != NULL ? &search->authority : NULL,
        .certificate = search->attempt.certificate,
    };
    return authkeys_is_revoked(search->verdict, &search->files->revoked, &offer);
}

/* Reads the key or the certificate that the client offers, and looks whether it is revoked. False,
 * with the reason, if it is out of the question. */
static bool open_offer(struct search *search)
{
    bool good = read_offer(search);
    if (!good) {
        const struct reader *type = &search->certificate.authority_type;
        bool other = ssh_key_type_is_other(type);
        search->verdict->reason = other ? AUTHKEYS_AUTHORITY_TYPE : AUTHKEYS_BAD_KEY;
        authkeys_name_option(search->verdict->option, type->bytes, other ? type->left : 0);
    }
    search->over = !good || is_revoked(search);
    return !search->over;
}

/* ---- one line -------------------------------------------------------------------------------- */

static enum authkeys_reason judge_certificate(struct search *search,
                                              const struct authkeys_line_terms *terms)
{
    struct authkeys_verdict *verdict = search->verdict;
    enum authkeys_reason reason =
        authkeys_options_of_certificate(&verdict->grant, verdict->option, &search->attempt);
    bool named = terms->has_principals
                     ? terms->names_principal
                     : certificate_names(&search->certificate, search->attempt.user);
    return reason == AUTHKEYS_LISTED && !named ? AUTHKEYS_PRINCIPAL : reason;
}

/* The verdict's grant is made for this line; only AUTHKEYS_LISTED makes it count. */
static enum authkeys_reason judge_line(struct search *search, struct reader options)
{
    struct authkeys_verdict *verdict = search->verdict;
    struct authkeys_line_terms terms;
    enum authkeys_reason reason = authkeys_options_of_line(&verdict->grant, &terms, verdict->option,
                                                           options, &search->attempt);
    if (reason != AUTHKEYS_LISTED) {
        return reason;
    }
    if (search->attempt.certificate == NULL) {
        return terms.is_authority ? AUTHKEYS_FOR_AUTHORITY : AUTHKEYS_LISTED;
    }
    return terms.is_authority ? judge_certificate(search, &terms) : AUTHKEYS_NO_AUTHORITY;
}

/* A line of -c's file: a key without options. */
static enum authkeys_reason judge_authority(struct search *search, struct reader options)
{
    const struct authkeys_line_terms terms = {.is_authority = true};
    if (options.left > 0) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    authkeys_begin_grant(&search->verdict->grant, GRANT_PERMISSIONS); /* it alone narrows it */
    return search->attempt.certificate != NULL ? judge_certificate(search, &terms)
                                               : AUTHKEYS_FOR_AUTHORITY;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void note_authority(struct search *search, const struct reader *type, const char *path,
                           uint32_t number)
{
    if (!ssh_key_type_is_other(type)) {
        search->has_authority = search->has_authority || ssh_key_type_is_known(type);
    } else if (search->other_line == 0 && !search->settled) {
        search->other_line = number;
        search->other_path = path;
        authkeys_name_option(search->verdict->option, type->bytes, type->left);
    }
}

/* A certificate is opened at the first line that names an authority. */
static bool lists_offer(struct search *search, const struct authkeys_line *line, const char *path,
                        uint32_t number)
{
    if (!is_certificate(search)) {
        return authkeys_line_lists(line, &search->key);
    }
    bool names =
        path == search->files->authorities.path || authkeys_options_name_authority(line->options);
    if (!search->read && (!names || !open_offer(search))) {
        return false;
    }
    if (names) {
        note_authority(search, &line->type, path, number);
    }
    return authkeys_line_lists(line, &search->authority);
}

static enum authkeys_reason look(struct search *search, struct authkeys_line *parts,
                                 struct reader line, const char *path, uint32_t number)
{
    if (!authkeys_line_read(parts, line)) {
        return AUTHKEYS_NOT_LISTED;
    }
    return lists_offer(search, parts, path, number) ? AUTHKEYS_LISTED : authkeys_line_fault(parts);
}

/* The first fault in the user's file replaces AUTHKEYS_NOT_LISTED. */
static void note_fault(struct search *search, enum authkeys_reason fault, const char *path,
                       uint32_t line)
{
    if (fault != AUTHKEYS_NOT_LISTED && search->read &&
        search->verdict->reason == AUTHKEYS_NOT_LISTED) {
        authkeys_refuse(search->verdict, fault, path, line);
    }
}

/* True if a line let the key in. Later refusals must not overwrite the name of the option that goes
 * with the first. */
static bool search_lines(struct search *search, int fd, const char *path,
                         enum authkeys_reason (*judge)(struct search *, struct reader))
{
    struct lines lines;
    struct reader line;
    int got = 0;

    lines_init(&lines, fd);
    while (!search->over && (got = lines_next(&lines, &line)) == 1) {
        struct authkeys_line parts;
        char first_option[AUTHKEYS_OPTION_BYTES];
        enum authkeys_reason reason = lines.too_long
                                          ? AUTHKEYS_LINE_TOO_LONG
                                          : look(search, &parts, line, path, lines.number);
        if (reason != AUTHKEYS_LISTED) {
            note_fault(search, reason, path, lines.number);
            continue;
        }
        memcpy(first_option, search->verdict->option, sizeof(first_option));
        memset(search->verdict->option, 0, sizeof(search->verdict->option));
        reason = judge(search, parts.options);
        if (reason == AUTHKEYS_LISTED) {
            accept(search, path, lines.number);
            return true;
        }
        if (search->settled) {
            memcpy(search->verdict->option, first_option, sizeof(first_option));
        } else {
            authkeys_refuse(search->verdict, reason, path, lines.number);
            search->settled = true;
        }
    }
    if (got < 0 && !search->settled && !search->over) {
        search->verdict->error = (uint32_t)errno;
        authkeys_refuse(search->verdict, AUTHKEYS_UNREADABLE, path, 0);
    }
    return false;
}

static bool search_authorities(struct search *search)
{
    const struct authkeys_file *file = &search->files->authorities;
    if (file->path == NULL || !is_certificate(search)) {
        return false;
    }
    if (file->fd < 0) {
        authkeys_refuse_by_file(search->verdict, file);
        search->settled = true;
        return false;
    }
    return search_lines(search, file->fd, file->path, judge_authority);
}

static void search_users(struct search *search)
{
    const struct authkeys_users_file *file = &search->files->users;
    if (!search->settled) {
        authkeys_refuse_by_users(search->verdict, file);
    }
    if (file->fd >= 0) {
        search_lines(search, file->fd, file->path, judge_line);
        if (!search->read && search->verdict->reason == AUTHKEYS_NOT_LISTED) {
            authkeys_refuse(search->verdict, AUTHKEYS_NO_AUTHORITY, file->path, 0);
        }
    }
}

void authkeys_search(struct authkeys_verdict *verdict, const struct authkeys_query *query,
                     const char *user, const struct authkeys_files *files)
{
    struct search search = {
        .query = query,
        .files = files,
        .verdict = verdict,
        .attempt = {.user = user,
                    .address = query->address,
                    .now = query->now,
                    .may_set_environment = query->may_set_environment},
    };
    memset(verdict, 0, sizeof(*verdict));
    bool read_at_once = !is_certificate(&search) || files->authorities.path != NULL;
    if ((!read_at_once || open_offer(&search)) && !search_authorities(&search)) {
        search_users(&search);
    }
    if (!search.settled && search.other_line != 0) {
        if (search.has_authority) {
            authkeys_name_option(verdict->option, NULL, 0);
        } else {
            authkeys_refuse(verdict, AUTHKEYS_AUTHORITY_TYPE, search.other_path, search.other_line);
        }
    }
}
