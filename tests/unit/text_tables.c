/* For base/text.c: tables. */
#include "base.h"

#include "unit.h"

/* An empty text stands for the next one, also after another. */
TEST_EACH(places, 6)
{
    static const char texts[] = "\0a\0bc\0\0\0d";
    static const char *const found[] = {"a", "a", "bc", "d", "d", "d"};
    ck_assert_str_eq(texts_at(texts, (size_t)_i), found[_i]);
}
