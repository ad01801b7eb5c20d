#include "identity.h"

#include <stddef.h>

#include "account_file.h"

#define OVERFLOW_ID 65534

struct identity identity_find(void)
{
    struct identity ids[2] = {{0}};
    passwd_find_ids(ids, "wrensshd", "nobody");
    for (size_t i = 0; i < 2; i++) {
        if (ids[i].uid != 0 && ids[i].gid != 0) {
            return ids[i];
        }
    }
    return (struct identity){.uid = OVERFLOW_ID, .gid = OVERFLOW_ID};
}
