/* sftp/names.c: RENAME without renameat2(2), while another process works in the same directory. */
#include "sftp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scratch.h"
#include "unit.h"

static char top[SCRATCH_BYTES];
static const char *replaced; /* by another process, right after linkat() */
static bool stays;           /* unlinkat() fails for the old name */
static bool numbered;        /* each name of a file has a number of its own, as under FUSE */

/* In the place of the C library's, for names in the working directory. */

long syscall(long number, ...)
{
    ck_assert_int_eq(number, SYS_renameat2);
    errno = ENOSYS;
    return -1;
}

int linkat(int directory, const char *name, int other, const char *new, int flags)
{
    ck_assert(directory == AT_FDCWD && other == AT_FDCWD && flags == 0);
    int result = numbered ? close(creat(new, 0644)) : link(name, new);
    if (result == 0 && replaced != NULL) {
        ck_assert_int_eq(rename("other", replaced), 0);
    }
    return result;
}

int unlinkat(int directory, const char *name, int flags)
{
    ck_assert(directory == AT_FDCWD && flags == 0);
    if (stays && strcmp(name, "old") == 0) {
        errno = EACCES;
        return -1;
    }
    return unlink(name);
}

/* The file has a second name, as in a tree of snapshots. */
static void begin(void)
{
    scratch_make(top);
    ck_assert_int_eq(chdir(top), 0);
    ck_assert_int_eq(close(creat("old", 0644)), 0);
    ck_assert_int_eq(link("old", "snapshot"), 0);
    ck_assert_int_eq(close(creat("other", 0644)), 0);
    replaced = NULL;
    stays = numbered = false;
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(30);

static ino_t inode_of(const char *name)
{
    struct stat status;
    return lstat(name, &status) == 0 ? status.st_ino : 0;
}

static enum sftp_status rename_old_to_new(void)
{
    static struct sftp sftp = {.paths = {.jail = -1}};
    sftp.message = reader_over("\0\0\0\3old\0\0\0\3new", 14);
    return on_rename(&sftp);
}

TEST(file_moves)
{
    ino_t file = inode_of("old");
    ck_assert_int_eq(rename_old_to_new(), SFTP_OK);
    ck_assert_uint_eq(inode_of("new"), file);
    ck_assert_uint_eq(inode_of("old"), 0);
}

TEST(file_moves_whose_names_have_numbers_of_their_own)
{
    numbered = true;
    ck_assert_int_eq(rename_old_to_new(), SFTP_OK);
    ck_assert_uint_ne(inode_of("new"), 0);
    ck_assert_uint_eq(inode_of("old"), 0);
}

TEST(new_name_is_taken_back)
{
    ino_t file = inode_of("old");
    stays = true;
    ck_assert_int_eq(rename_old_to_new(), SFTP_PERMISSION_DENIED);
    ck_assert_uint_eq(inode_of("new"), 0);
    ck_assert_uint_eq(inode_of("old"), file);
}

static const char *const names[] = {"old", "new"};

TEST_EACH(files_of_others_stay, 4)
{
    ino_t other = inode_of("other");
    replaced = names[_i % 2];
    stays = _i >= 2;
    rename_old_to_new();
    ck_assert_uint_eq(inode_of(replaced), other);
}
