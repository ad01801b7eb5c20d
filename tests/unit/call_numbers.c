/* The numbers of base/base.h are those of the C library, where it has them. */
#include "base.h"

#include "unit.h"

TEST(numbers_are_those_of_the_c_library)
{
    static const long numbers[][2] = {
        {CALL_NUMBER(0), CALL_NUMBER(0)}, /* so that there is one */
#ifdef SYS_pidfd_open
        {CALL_PIDFD_SEND_SIGNAL, SYS_pidfd_send_signal},
        {CALL_PIDFD_OPEN, SYS_pidfd_open},
#endif
#ifdef SYS_openat2
        {CALL_CLOSE_RANGE, SYS_close_range},
        {CALL_OPENAT2, SYS_openat2},
#endif
#ifdef SYS_landlock_create_ruleset
        {CALL_LANDLOCK_CREATE_RULESET, SYS_landlock_create_ruleset},
        {CALL_LANDLOCK_ADD_RULE, SYS_landlock_add_rule},
        {CALL_LANDLOCK_RESTRICT_SELF, SYS_landlock_restrict_self},
#endif
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        ck_assert_int_eq(numbers[i][0], numbers[i][1]);
    }
}
