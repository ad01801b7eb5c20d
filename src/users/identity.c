#include "identity.h"

#include <stddef.h>

#include "account_file.h"

#define OVERFLOW_ID 65534

struct identity identity_find(void)
{
    static const char names[][sizeof("wrensshd")] = {"wrensshd", "nobody"};
    struct user user;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (passwd_find(&user, names[i]) > 0 && user.uid != 0 && user.gid != 0) {
            return (struct identity){.uid = user.uid, .gid = user.gid};
        }
    }
    return (struct identity){.uid = OVERFLOW_ID, .gid = OVERFLOW_ID};
}
