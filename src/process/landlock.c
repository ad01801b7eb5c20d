#include "landlock.h"

#include <fcntl.h>
#include <unistd.h>

#include "call_numbers.h"
#include "seccomp_abi.h"

int landlock_rules(uint64_t rights, uint64_t scopes)
{
    const struct landlock_attributes attributes = {.handled_access_fs = rights, .scoped = scopes};
    /* A kernel refuses a longer structure than its own, unless the rest is zero. */
    return (int)syscall(CALL_LANDLOCK_CREATE_RULESET, &attributes, sizeof(attributes), 0);
}

bool landlock_allow_beneath(int rules, int directory, uint64_t rights)
{
    const struct landlock_beneath beneath = {.allowed_access = rights, .parent_fd = directory};
    return syscall(CALL_LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
}

bool landlock_enter(int rules)
{
    if (rules < 0) {
        return false;
    }
    bool entered = syscall(CALL_LANDLOCK_RESTRICT_SELF, rules, 0) == 0;
    close(rules);
    return entered;
}

void landlock_isolate(void)
{
    int rules = landlock_rules(0, LANDLOCK_SCOPE_SIGNAL);
    if (rules < 0) {
        /* A rule set must name a right. The right to move files between directories is taken away
         * even by rule sets that do not name it, so this one gives it back for all directories. */
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        rules = landlock_rules(LANDLOCK_REFER, 0);
        if (!landlock_allow_beneath(rules, root, LANDLOCK_REFER)) {
            close(rules);
            rules = -1;
        }
        close(root);
    }
    landlock_enter(rules);
}
