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
    authkeys_open_admins(&files, query, account);
    authkeys_open_users(&files, query, account);
    authkeys_search(verdict, query, account, &files);
    int opened[LIMIT_KEY_FILES + 2] = {files.authorities.fd, files.revoked.fd};
    for (int i = 0; i < LIMIT_KEY_FILES; i++) {
        opened[i + 2] = files.users[i].fd;
    }
    for (int i = 0; i < LIMIT_KEY_FILES + 2; i++) {
        if (opened[i] >= 0) {
            close(opened[i]);
        }
    }
}

#endif
