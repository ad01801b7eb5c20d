/* What the tests of authkeys_search() share: the files as the child opens them. */
#ifndef WREN_UNIT_SEARCH_H
#define WREN_UNIT_SEARCH_H

#include <unistd.h>

#include "authkeys.h"

/* Opens what the query and the account name, judges the key by it, and closes it again. */
static inline void search_files(struct authkeys_verdict *verdict,
                                const struct authkeys_query *query, const struct account *account)
{
    struct authkeys_files files;
    files.authorities = authkeys_open_admins(query->ca_path);
    files.revoked = authkeys_open_admins(query->revoked_path);
    authkeys_open_users(&files, query->pattern, account);
    authkeys_search(verdict, query, account, &files);
    const int opened[] = {files.authorities.fd, files.revoked.fd, files.users.fd};
    for (int i = 0; i < 3; i++) {
        if (opened[i] >= 0) {
            close(opened[i]);
        }
    }
}

#endif
