/*
 * For -T: what a login would say about each line of the files of keys. The child that reads keys
 * walks over them once, after it has given up every right; a login never calls this.
 */
#ifndef WREN_AUTHKEYS_EXPLAIN_H
#define WREN_AUTHKEYS_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "authkeys.h"
#include "authkeys_internal.h"

/* About a line, or about a whole file. It begins like a verdict. */
struct authkeys_finding {
    uint32_t reason; /* enum authkeys_reason */
    uint32_t line;   /* 0: the whole file */
    uint32_t owner;
    uint32_t mode;
    uint32_t error;
    uint32_t file; /* the user's by its index; LIMIT_KEY_FILES: that of -c */
    char option[AUTHKEYS_OPTION_BYTES];
    uint8_t fingerprint[32]; /* zeros: no key could be read */
};

_Static_assert(sizeof(struct authkeys_finding) ==
                   offsetof(struct authkeys_verdict, grant.authority),
               "a finding can be copied over the start of a verdict");

struct authkeys_report {
    uint32_t count;
    uint32_t more; /* lines that do not fit */
    /* The last one is for the present line. */
    struct authkeys_finding findings[LIMIT_EXPLAINED_LINES + 1];

    char paths[LIMIT_KEY_FILES + 1][LIMIT_PATH_BYTES]; /* of the files */

    /* The child's. */
    uint32_t file;
    struct authkeys_case given;
    bool may_be_revoked;
    struct key_line line;
    struct lines lines;
    struct key_text key;
    struct grant grant;
};

/*
 * Fills in the report, which must be zeros: what a login with the key of each line of the user's
 * files and of -c's would log; empty lines and comments are left out. If the lines do not fit, the
 * last finding is about one that may work, if there is one; with a file of -R all that may work are
 * kept, up to the limit. The verdict is AUTHKEYS_NOT_LISTED, or why the first of the user's files
 * that can't be used can't be: the next ones, unless missing, and -c's are findings; or, without
 * findings, why -R's can't be.
 */
void authkeys_explain(struct authkeys_verdict *verdict, struct authkeys_report *report,
                      const struct authkeys_query *query, const struct account *account,
                      const struct authkeys_files *files);

#endif
