/* The part of authkeys.h that judges keys by lines, in the child that has given up every right. */
#include "authkeys_internal.h"
#include "ipc.h"

struct search {
    struct authkeys_case given;
    const struct authkeys_files *files;
    struct authkeys_verdict *verdict;
    struct certificate certificate;
    struct key_text key;
    struct key_text authority; /* of the certificate */
    bool read;                 /* the key or the certificate has been parsed */
    bool settled;              /* the reason is final, unless a line lets the key in */
    bool has_authority;        /* a line names an authority of an accepted type */
    uint32_t other_line;       /* the first line with an authority of another type, or 0 */
    const char *other_path;
    char other_type[AUTHKEYS_OPTION_BYTES];

    /* The file that is searched, and its present line. */
    const char *path;
    struct lines *lines;
    struct key_line line;
};

/* ---- lines of a file ------------------------------------------------------------------------- */

/* The first fault in the user's files replaces AUTHKEYS_NOT_LISTED. */
static void note_fault(struct search *search, enum authkeys_reason fault)
{
    if (fault != AUTHKEYS_NOT_LISTED && search->read &&
        search->verdict->reason == AUTHKEYS_NOT_LISTED) {
        authkeys_set_reason(search->verdict, fault, search->path, search->lines->number);
    }
}

/* Finds the next line that is neither empty nor a comment. False at the end of the file. */
static bool next_line(struct search *search)
{
    struct reader text;
    int got;
    while ((got = lines_next(search->lines, &text)) == 1) {
        if (search->lines->too_long) {
            note_fault(search, AUTHKEYS_LINE_TOO_LONG);
        } else if (key_line_read(&search->line, text)) {
            return true;
        }
    }
    if (got < 0 && !search->settled) {
        search->verdict->error = (uint32_t)errno;
        authkeys_set_reason(search->verdict, AUTHKEYS_UNREADABLE, search->path, 0);
        search->settled = lines_stopped != 0; /* not a fault of the next file */
    }
    return false;
}

/* Whether the account needs the shell that it lacks. If an authority's line forces no command, its
 * certificates may force our SFTP server. */
static bool lacks_shell(const struct grant *grant, bool is_authority,
                        const struct authkeys_case *given)
{
    bool may_force =
        is_authority && given->certificate == NULL && (grant->flags & GRANT_FORCED) == 0;
    return given->account->shell[0] == '\0' && !may_force && !grant_needs_no_shell(grant);
}

enum authkeys_reason authkeys_judge_line(struct grant *grant,
                                         char option[static AUTHKEYS_OPTION_BYTES],
                                         struct reader options, const struct authkeys_case *given)
{
    const struct certificate *certificate = given->certificate;
    struct authkeys_line_terms terms = {.is_authority = given->of_admins};
    enum authkeys_reason reason = AUTHKEYS_GOOD;
    if (!given->of_admins) {
        reason =
            authkeys_options_of_line(grant, &terms, option, options, given->query, certificate);
    } else if (options.left > 0) {
        reason = AUTHKEYS_BROKEN_OPTION;
    } else {
        grant->flags = GRANT_PERMISSIONS; /* only the certificate narrows it */
    }
    if (reason == AUTHKEYS_GOOD && terms.is_authority != (certificate != NULL)) {
        reason = terms.is_authority ? AUTHKEYS_FOR_AUTHORITY : AUTHKEYS_NO_AUTHORITY;
    } else if (reason == AUTHKEYS_GOOD && certificate != NULL) {
        reason = certificate_narrow(grant, option, certificate, given->query);
        bool named = terms.has_principals ? terms.names_principal
                                          : certificate_names(certificate, given->account->user);
        reason = reason == AUTHKEYS_GOOD && !named ? AUTHKEYS_PRINCIPAL : reason;
    }
    bool may_work = reason == AUTHKEYS_GOOD || (given->by_anybody && authkeys_may_work(reason));
    if (may_work && lacks_shell(grant, terms.is_authority, given)) {
        authkeys_name_option(option, "", 0);
        reason = AUTHKEYS_NO_SHELL;
    }
    return reason;
}

/* True, with the reason, if the file of -R revokes the key. */
static bool is_revoked(struct search *search)
{
    const struct certificate *certificate = search->given.certificate;
    const struct revoked_offer offer = {.key = &search->key,
                                        .authority =
                                            certificate != NULL ? &search->authority : NULL,
                                        .certificate = certificate};
    memset(search->verdict->option, 0, sizeof(search->verdict->option));
    return authkeys_is_revoked(search->verdict, &search->files->revoked, &offer);
}

/* True if the search is over: the line lets the key in. Only then its grant becomes the verdict's,
 * unless the key is revoked. A list of revoked keys may be long. It is read last, so that the time
 * reveals nothing of a user's file. Otherwise the verdict keeps the first refusing line's reason,
 * with its wrong option. */
static bool accept_line(struct search *search)
{
    struct authkeys_verdict *verdict = search->verdict;
    struct grant grant = verdict->grant;
    char option[AUTHKEYS_OPTION_BYTES] = "";
    enum authkeys_reason reason =
        authkeys_judge_line(&grant, option, search->line.options, &search->given);
    if (reason == AUTHKEYS_GOOD) {
        if (is_revoked(search)) {
            return true;
        }
        verdict->grant = grant;
    }
    if (reason == AUTHKEYS_GOOD || !search->settled) {
        authkeys_set_reason(verdict, reason, search->path, search->lines->number);
        memcpy(verdict->option, option, sizeof(verdict->option));
        search->settled = true;
    }
    return reason == AUTHKEYS_GOOD;
}

/* ---- the offer ------------------------------------------------------------------------------- */

static void describe_key(struct search *search, const struct key *key)
{
    struct authkeys_verdict *verdict = search->verdict;
    key_write_text(&search->key, key);
    key_write_verifier(&verdict->grant.key, key);
    memcpy(verdict->grant.fingerprint, search->key.fingerprint, sizeof(search->key.fingerprint));
}

/* Reads the key. False, with the reason, if it is malformed. */
static bool read_offer(struct search *search)
{
    const struct authkeys_query *query = search->given.query;
    bool sk = query->key_type == IPC_KEY_SK_ED25519;
    struct key key;
    search->read = true;
    if ((!sk && query->key_type != IPC_KEY_ED25519) ||
        !key_read(&key, reader_over(query->blob, query->blob_bytes)) || key.sk != sk) {
        search->verdict->reason = AUTHKEYS_BAD_KEY;
        return false;
    }
    describe_key(search, &key);
    return true;
}

/* The same for a certificate. */
static bool read_certificate(struct search *search)
{
    const struct authkeys_query *query = search->given.query;
    struct authkeys_verdict *verdict = search->verdict;
    struct grant *grant = &verdict->grant;
    struct certificate *certificate = &search->certificate;
    const struct reader *type = &certificate->authority_type;
    const struct reader *id = &certificate->key_id;
    search->read = true;
    if (!certificate_read(certificate, ssh_key_type_is_sk(query->key_type), query->blob,
                          query->blob_bytes)) {
        bool other = ssh_key_type_is_other(type);
        verdict->reason = other ? AUTHKEYS_AUTHORITY_TYPE : AUTHKEYS_BAD_KEY;
        authkeys_name_option(verdict->option, type->bytes, other ? type->left : 0);
        return false;
    }
    describe_key(search, &certificate->key);
    key_write_text(&search->authority, &certificate->authority);
    memcpy(grant->authority, search->authority.fingerprint, sizeof(grant->authority));
    grant->serial = certificate->serial;
    bool whole = id->left < LIMIT_KEY_ID_BYTES;
    memcpy(grant->key_id, id->bytes, whole ? id->left : LIMIT_KEY_ID_BYTES - sizeof("..."));
    if (!whole) {
        memcpy(grant->key_id + LIMIT_KEY_ID_BYTES - sizeof("..."), "...", sizeof("..."));
    }
    return true;
}

/* ---- the files ------------------------------------------------------------------------------- */

static void note_authority(struct search *search)
{
    const struct reader *type = &search->line.type;
    if (!ssh_key_type_is_other(type)) {
        search->has_authority = search->has_authority || ssh_key_type_is_known(type);
    } else if (search->other_line == 0) {
        search->other_line = search->lines->number;
        search->other_path = search->path;
        authkeys_name_option(search->other_type, type->bytes, type->left);
    }
}

/* True if the search is over. A certificate is read at the first line that names an authority. */
static bool search_file(struct search *search, const struct authkeys_file *file, bool of_admins)
{
    const bool is_certificate = search->given.certificate != NULL;
    search->given.of_admins = of_admins;
    search->path = file->path;
    lines_init(search->lines, file->fd);
    while (next_line(search)) {
        if (is_certificate &&
            (of_admins || authkeys_options_name_authority(search->line.options))) {
            if (!search->read && !read_certificate(search)) {
                return true;
            }
            note_authority(search);
        }
        if (!search->read) {
            continue;
        }
        if (!key_line_lists(&search->line, is_certificate ? &search->authority : &search->key)) {
            note_fault(search, key_line_fault(&search->line));
        } else if (accept_line(search)) {
            return true;
        }
    }
    return false;
}

/* With -c the certificate is read at once. */
static bool search_admins(struct search *search)
{
    const struct authkeys_file *file = &search->files->authorities;
    if (file->path == NULL) {
        return false;
    }
    if (!read_certificate(search)) {
        return true;
    }
    if (file->fd < 0) {
        authkeys_refuse_by_file(search->verdict, file);
        search->settled = true;
        return false;
    }
    return search_file(search, file, true);
}

static bool search_users(struct search *search)
{
    struct authkeys_verdict *verdict = search->verdict;
    const struct authkeys_file *files = search->files->users;
    verdict->reason = search->settled ? verdict->reason : AUTHKEYS_NO_REASON;
    for (size_t i = 0; i < LIMIT_KEY_FILES && files[i].path != NULL; i++) {
        if (!search->settled) {
            authkeys_note_file(verdict, &files[i]);
        }
        if (files[i].fd >= 0 && search_file(search, &files[i], false)) {
            return true;
        }
    }
    if (!search->read && verdict->reason == AUTHKEYS_NOT_LISTED) {
        verdict->reason = AUTHKEYS_NO_AUTHORITY;
    }
    return false;
}

void authkeys_search(struct authkeys_verdict *verdict, const struct authkeys_query *query,
                     const struct account *account, const struct authkeys_files *files)
{
    static struct lines lines; /* the stack would have all its pages written */
    struct search search = {
        .given = {.query = query, .account = account},
        .files = files,
        .verdict = verdict,
        .lines = &lines,
    };
    bool is_certificate = ssh_key_type_is_certificate(query->key_type);
    search.given.certificate = is_certificate ? &search.certificate : NULL;
    memset(verdict, 0, sizeof(*verdict));
    bool over = is_certificate ? search_admins(&search) : !read_offer(&search);
    if (!over && !search_users(&search) && !search.settled && search.other_line != 0 &&
        !search.has_authority) {
        authkeys_set_reason(verdict, AUTHKEYS_AUTHORITY_TYPE, search.other_path, search.other_line);
        memcpy(verdict->option, search.other_type, sizeof(search.other_type));
    }
}
