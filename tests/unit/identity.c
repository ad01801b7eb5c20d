/* With an /etc elsewhere (etc_elsewhere.h). */
#include "users.h"

#include "etc_elsewhere.h"
#include "scratch.h"
#include "unit.h"

static char etc[SCRATCH_BYTES];

static void begin(void)
{
    scratch_make(etc);
    etc_elsewhere = etc;
}

UNIT_FIXTURE(begin, NULL);

#define ROOT        "root:x:0:0::/root:/bin/sh\n"
#define OVERFLOW_ID 65534

static const struct {
    const char *passwd; /* NULL: there is none */
    uid_t uid;
    gid_t gid;
} cases[] = {
    {NULL, OVERFLOW_ID, OVERFLOW_ID},
    {"", OVERFLOW_ID, OVERFLOW_ID},
    {ROOT, OVERFLOW_ID, OVERFLOW_ID},
    {ROOT "nobody:x:99:98::/:/bin/false\n", 99, 98},
    {ROOT "wrensshd:x:110:111::/:/bin/false\n", 110, 111},
    {ROOT "nobody:x:99:98::/:/bin/false\nwrensshd:x:110:111::/:/bin/false\n", 110, 111},
    /* Root's rights are none of theirs. */
    {ROOT "nobody:x:99:98::/:/bin/false\nwrensshd:x:0:111::/:/bin/false\n", 99, 98},
    {ROOT "nobody:x:99:98::/:/bin/false\nwrensshd:x:110:0::/:/bin/false\n", 99, 98},
    {ROOT "wrensshd:x:0:111::/:/bin/false\nnobody:x:99:98::/:/bin/false\n", 99, 98},
    {ROOT "nobody:x:99:0::/:/bin/false\n", OVERFLOW_ID, OVERFLOW_ID},
    {ROOT "nobody:x:0:98::/:/bin/false\nwrensshd:x:0:0::/:/bin/false\n", OVERFLOW_ID, OVERFLOW_ID},
    /* Other names, and lines that are none. */
    {"wrensshd2:x:5:5::/:/bin/sh\nxnobody:x:6:6::/:/bin/sh\n", OVERFLOW_ID, OVERFLOW_ID},
    {"wrensshd:x:110\nnobody:x:99:98::/:/bin/false\n", 99, 98},
};

TEST_EACH(who_the_unprivileged_are, COUNT_OF(cases))
{
    if (cases[_i].passwd != NULL) {
        scratch_write(etc, "passwd", cases[_i].passwd, strlen(cases[_i].passwd), 0644);
    }
    const struct identity identity = identity_find();
    ck_assert_uint_eq(identity.uid, cases[_i].uid);
    ck_assert_uint_eq(identity.gid, cases[_i].gid);
}
