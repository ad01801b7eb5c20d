#include "people.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "process.h"
#include "seccomp.h"
#include "unit.h"

struct people *people;

void people_begin(const char *home)
{
    if (people == NULL) {
        people =
            mmap(NULL, sizeof(*people), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(people, MAP_FAILED);
    }
    memset(people, 0, sizeof(*people));
    snprintf(people->home, sizeof(people->home), "%s", home);
}

enum account_reason account_find(struct account *account, struct account_groups *groups,
                                 const char *user, const struct options *options, uid_t own_uid)
{
    people->options = *options;
    people->own_uid = own_uid;
    people->lookups++;
    account_nobody(account, groups);
    if (strcmp(user, "root") == 0 && options->no_root) {
        return ACCOUNT_ROOT;
    }
    if (strcmp(user, "alice") != 0 && strcmp(user, "bob") != 0) {
        return ACCOUNT_UNKNOWN;
    }
    snprintf(account->user, sizeof(account->user), "%s", user);
    snprintf(account->home, sizeof(account->home), "%s", people->home);
    snprintf(account->shell, sizeof(account->shell), "/bin/sh");
    if (people->change_account != NULL) {
        people->change_account(account, groups);
    }
    return ACCOUNT_GOOD;
}

void account_nobody(struct account *account, struct account_groups *groups)
{
    memset(groups, 0, sizeof(*groups));
    memset(account, 0, sizeof(*account));
    snprintf(account->user, sizeof(account->user), "nobody");
    snprintf(account->home, sizeof(account->home), "/nonexistent");
    account->uid = geteuid();
    account->gid = getegid();
}

static bool install(void)
{
    static const struct seccomp_rule rules[] = {{.number = SYS_exit_group}};
    return confine_new_privileges() && seccomp_install(rules, 1);
}

bool people_have_seccomp(void)
{
    return unit_in_a_fork(install);
}
