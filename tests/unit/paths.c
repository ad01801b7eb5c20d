/* sftp/paths.c: names with and without a jail, with openat2(2) and without. */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lease_holder.h"
#include "scratch.h"
#include "unit.h"

static char top[SCRATCH_BYTES];
static struct paths paths;

/* A jail with a file, a directory and links, and a secret beside it. */
static void begin(void)
{
    scratch_make(top);
    ck_assert_int_eq(chdir(top), 0);
    ck_assert_int_eq(mkdir("jail", 0755), 0);
    ck_assert_int_eq(mkdir("jail/in", 0755), 0);
    ck_assert_int_eq(close(creat("jail/in/file", 0644)), 0);
    ck_assert_int_eq(close(creat("secret", 0644)), 0);
    ck_assert_int_eq(symlink("/secret", "jail/absolute"), 0);
    ck_assert_int_eq(symlink("../../../../../../secret", "jail/in/climbs"), 0);
    ck_assert_int_eq(symlink("/in/file", "jail/good"), 0);
    ck_assert_int_eq(symlink("in", "jail/folder"), 0);
    ck_assert_int_eq(symlink("b", "jail/a"), 0);
    ck_assert_int_eq(symlink("a", "jail/b"), 0);
    ck_assert_int_eq(symlink("new", "jail/dangling"), 0);
    char shows[SCRATCH_BYTES + 16];
    snprintf(shows, sizeof(shows), "%s/jail/in", top);
    ck_assert_int_eq(symlink(shows, "jail/shows"), 0);
    ck_assert_int_eq(symlink("/proc/self/root", "jail/magic"), 0);
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(30);

/* With `walks` as on a kernel without openat2(2). */
static void enter(bool walks)
{
    char jail[SCRATCH_BYTES + 8];
    snprintf(jail, sizeof(jail), "%s/jail", top);
    memset(&paths, 0, sizeof(paths));
    ck_assert_int_eq(paths_begin(&paths, jail, NULL), 0);
    paths.walks = paths.walks || walks;
}

/* The number of an inode, 0 if it can't be opened. */
static ino_t opened(const char *path, int flags, int *error)
{
    struct stat status = {0};
    int fd = -1;
    *error = paths_open(&paths, &fd, path, flags, 0644);
    if (*error == 0) {
        ck_assert_int_eq(fstat(fd, &status), 0);
        ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
        close(fd);
    }
    return status.st_ino;
}

/* paths_begin() changes the working directory. */
static struct stat outside(const char *path)
{
    char whole[2 * SCRATCH_BYTES];
    struct stat status = {0};
    snprintf(whole, sizeof(whole), "%s/%s", top, path);
    stat(whole, &status);
    return status;
}

static ino_t inode_of(const char *path)
{
    ino_t inode = outside(path).st_ino;
    ck_assert_uint_ne(inode, 0);
    return inode;
}

static const struct {
    const char *path;
    const char *leads_to; /* as seen from outside, or NULL */
    int error;
} opens[] = {
    {"/in/file", "jail/in/file", 0},
    {"in/file", "jail/in/file", 0},
    {"//in//file", "jail/in/file", 0},
    {"in/../in/./file", "jail/in/file", 0},
    {"../../../in/file", "jail/in/file", 0},
    {"/../..", "jail", 0},
    {"/", "jail", 0},
    {".", "jail", 0},
    {"good", "jail/in/file", 0},
    {"folder/file", "jail/in/file", 0},
    {"folder/../in", "jail/in", 0},
    {"absolute", NULL, ENOENT},
    {"in/climbs", NULL, ENOENT},
    {"../secret", NULL, ENOENT},
    {"/../secret", NULL, ENOENT},
    {"shows/file", NULL, ENOENT},
    {"magic/etc", NULL, ENOENT},
    {"a", NULL, ELOOP},
    {"", NULL, ENOENT},
    {"in/file/x", NULL, ENOTDIR},
    {"in/file/..", NULL, ENOTDIR},
    {"nothing/..", NULL, ENOENT},
};

/* The walk resolves ".." in the name: what is before it need not be a directory. And it refuses a
 * link that names the jail, which the kernel follows within the jail. */
static bool is_other_in_a_walk(const char *path)
{
    return paths.walks && (strcmp(path, "in/file/..") == 0 || strcmp(path, "nothing/..") == 0 ||
                           strcmp(path, "shows/file") == 0);
}

static void check_opens(bool walks)
{
    enter(walks);
    for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
        int error;
        ino_t found = opened(opens[i].path, O_RDONLY, &error);
        if (is_other_in_a_walk(opens[i].path)) {
            continue;
        }
        ck_assert_msg(error == opens[i].error, "%s: %s", opens[i].path, strerror(error));
        ck_assert_msg(opens[i].leads_to == NULL || found == inode_of(opens[i].leads_to), "%s",
                      opens[i].path);
    }
}

TEST_EACH(jail_holds, 2)
{
    check_opens(_i == 1);
}

/* As without a jail: what a slash follows is a directory. */
TEST_EACH(slash_at_the_end_wants_a_directory, 2)
{
    struct found_name found;
    enter(_i == 1);
    ck_assert_int_eq(paths_find(&paths, &found, "in/file/", false), ENOTDIR);
    ck_assert_int_eq(paths_find(&paths, &found, "folder//", false), ENOTDIR);
    ck_assert_int_eq(paths_find(&paths, &found, "in/", false), 0);
    ck_assert_str_eq(found.name, "in");
    paths_leave(&found, 0);
    ck_assert_int_eq(paths_find(&paths, &found, "in/new/", false), 0);
    paths_leave(&found, 0);
}

TEST_EACH(files_are_made_inside_only, 2)
{
    static const char *const made[] = {"/made", "../../up", "in/../made2", "dangling"};
    static const char *const seen[] = {"jail/made", "jail/up", "jail/made2", "jail/new"};
    int error;
    enter(_i == 1);
    for (size_t i = 0; i < 4; i++) {
        ino_t inode = opened(made[i], O_WRONLY | O_CREAT, &error);
        ck_assert_msg(error == 0, "%s: %s", made[i], strerror(error));
        ck_assert_uint_eq(inode, inode_of(seen[i]));
    }
    ck_assert_uint_eq(opened("dangling", O_WRONLY | O_CREAT | O_EXCL, &error), 0);
    ck_assert_int_eq(error, EEXIST);
    ck_assert_uint_eq(outside("up").st_ino, 0);
}

TEST_EACH(name_of_a_link_is_the_link, 2)
{
    struct found_name found;
    struct stat status;
    enter(_i == 1);
    ck_assert_int_eq(paths_find(&paths, &found, "folder/climbs", false), 0);
    ck_assert_int_eq(fstatat(found.directory, found.name, &status, found.flags), 0);
    ck_assert(S_ISLNK(status.st_mode));
    paths_leave(&found, 0);
    ck_assert_int_eq(paths_find(&paths, &found, "absolute", true), ENOENT);
    ck_assert_int_eq(paths_stat(&paths, &status, "absolute", false), 0);
    ck_assert(S_ISLNK(status.st_mode));
    ck_assert_int_eq(paths_stat(&paths, &status, "good", true), 0);
    ck_assert_uint_eq(status.st_ino, inode_of("jail/in/file"));
    ck_assert_int_eq(paths_find(&paths, &found, "good", true), 0);
    ck_assert_int_eq(fchmodat(found.directory, found.name, 0600, found.flags), 0);
    paths_leave(&found, 0);
    ck_assert_uint_eq(outside("jail/in/file").st_mode & 07777, 0600);
}

static const struct {
    const char *path;
    const char *real; /* NULL: an error */
    int error;
} reals[] = {
    {".", "/", 0},
    {"", "/", 0},
    {"..", "/", 0},
    {"/../../in/./file", "/in/file", 0},
    {"good", "/in/file", 0},
    {"folder/climbs", "/secret", 0},
    {"absolute", "/secret", 0},
    {"in/new", "/in/new", 0},
    {"in//new/", NULL, ENOENT},
    {"in//", "/in", 0},
    {"dangling", "/new", 0},
    {"dangling/", NULL, ENOENT},
    {"in/new/x", NULL, ENOENT},
    {"a", NULL, ELOOP},
    {"in/file/x", NULL, ENOTDIR},
};

TEST_EACH(real_names_stay_inside, 2)
{
    char real[PATH_BYTES];
    enter(_i == 1);
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        int error = paths_real(&paths, real, reals[i].path);
        ck_assert_msg(error == reals[i].error, "%s: %s", reals[i].path, strerror(error));
        ck_assert_msg(error != 0 || strcmp(real, reals[i].real) == 0, "%s: %s", reals[i].path,
                      real);
    }
}

/* In the place of the C library's: once, right after the server has seen that jail/in is no link,
 * another process makes it one that leads outside. */
static bool swaps;

ssize_t readlinkat(int directory, const char *restrict name, char *restrict target, size_t size)
{
    ssize_t bytes = syscall(SYS_readlinkat, directory, name, target, size);
    int error = errno;
    if (swaps && bytes < 0 && error == EINVAL && strcmp(name, "in") == 0) {
        char old[SCRATCH_BYTES + 16], new[SCRATCH_BYTES + 16];
        snprintf(old, sizeof(old), "%s/jail/in", top);
        snprintf(new, sizeof(new), "%s/jail/was", top);
        swaps = false;
        ck_assert_int_eq(rename(old, new), 0);
        ck_assert_int_eq(symlink("../beside", old), 0);
    }
    errno = error;
    return bytes;
}

TEST_EACH(folder_that_becomes_a_link_meanwhile, 2)
{
    int error;
    ck_assert_int_eq(mkdir("beside", 0755), 0);
    ck_assert_int_eq(close(creat("beside/file", 0644)), 0);
    ck_assert_int_eq(close(creat("beside/secret", 0644)), 0);
    enter(true);
    swaps = true;
    ck_assert_uint_eq(
        opened(_i == 0 ? "in/file" : "in/new", O_RDWR | (_i == 0 ? 0 : O_CREAT), &error), 0);
    ck_assert_msg(!swaps && error == ENOTDIR, "%s", strerror(error));
    ck_assert_uint_eq(outside("beside/new").st_ino, 0);
}

static const char *in_jail(void)
{
    static char jail[SCRATCH_BYTES + 8];
    snprintf(jail, sizeof(jail), "%s/jail", top);
    return jail;
}

TEST_EACH(link_that_shows_the_jails_place_is_refused, 2)
{
    char target[PATH_BYTES];
    static const char *const shows[] = {"%s/jail", "%s/jail/", "/%s//jail/in", "/.%s/./jail/x"};
    static const char *const others[] = {"%s/jailer", "%s", "/jail", "x%s/jail"};
    char text[2 * SCRATCH_BYTES];
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof(text), shows[i], top);
        ck_assert_msg(path_begins_with(text, in_jail()), "%s", text);
        snprintf(text, sizeof(text), others[i], top);
        ck_assert_msg(!path_begins_with(text, in_jail()), "%s", text);
    }
    enter(_i == 1);
    ck_assert_int_eq(paths_read_link(&paths, target, "shows"), EACCES);
    ck_assert_int_eq(paths_read_link(&paths, target, "good"), 0);
    ck_assert_str_eq(target, "/in/file");
    ck_assert_int_eq(paths_read_link(&paths, target, "in"), EINVAL);
    struct stat status;
    ck_assert_int_eq(paths_stat(&paths, &status, "shows", false), 0);
    ck_assert_int_eq(status.st_size, 0);
    ck_assert_int_eq(paths_stat(&paths, &status, "good", false), 0);
    ck_assert_int_eq(status.st_size, 8);
    ck_assert_int_eq(paths_real(&paths, target, "shows"), EACCES);
}

TEST(start_directory_in_a_jail)
{
    char jail[SCRATCH_BYTES + 8], real[PATH_BYTES];
    int error;
    snprintf(jail, sizeof(jail), "%s/jail", top);
    ck_assert_int_eq(paths_begin(&paths, jail, "folder"), 0);
    ck_assert_str_eq(paths.directory, "/in");
    ck_assert_uint_eq(opened("file", O_RDONLY, &error), inode_of("jail/in/file"));
    ck_assert_int_eq(paths_real(&paths, real, "x"), 0);
    ck_assert_str_eq(real, "/in/x");
    ck_assert_int_eq(chdir(top), 0);
    ck_assert_int_eq(paths_begin(&paths, jail, "nothing"), ENOENT);
    ck_assert_int_eq(chdir(top), 0);
    ck_assert_int_eq(paths_begin(&paths, "nothing", NULL), ENOENT);
    ck_assert_int_eq(paths_begin(&paths, "secret", NULL), ENOTDIR);
}

TEST(without_a_jail)
{
    char real[PATH_BYTES], expected[2 * SCRATCH_BYTES];
    int error;
    ck_assert_int_eq(paths_begin(&paths, NULL, "jail"), 0);
    ck_assert_uint_eq(opened("in/file", O_RDONLY, &error), inode_of("jail/in/file"));
    ck_assert_int_eq(paths_real(&paths, real, "folder/../x"), 0);
    ck_assert_int_eq(chdir(".."), 0);
    ck_assert_ptr_nonnull(getcwd(expected, SCRATCH_BYTES));
    strcat(expected, "/jail/x");
    ck_assert_str_eq(real, expected);
    ck_assert_int_eq(paths_begin(&paths, NULL, "nothing"), ENOENT);
}

/* Nobody writes: an open for reading that waited would hang. */
TEST(fifo_does_not_wait)
{
    int error;
    ck_assert_int_eq(paths_begin(&paths, NULL, NULL), 0);
    ck_assert_int_eq(mkfifo("fifo", 0600), 0);
    ck_assert_uint_ne(opened("fifo", O_RDONLY, &error), 0);
}

/* In a jail, in one without openat2(2), and in none: to read, and to empty. */
TEST_EACH(leases_are_waited_for, 3)
{
    char path[SCRATCH_BYTES + 16];
    int error = 0;
    snprintf(path, sizeof(path), "%s/jail/in/file", top);
    if (_i < 2) {
        enter(_i == 1);
    } else {
        ck_assert_int_eq(paths_begin(&paths, NULL, NULL), 0);
    }
    const char *name = _i < 2 ? "/in/file" : path;
    pid_t holder = lease_hold(path, F_WRLCK);
    ck_assert_uint_ne(opened(name, O_RDONLY, &error), 0);
    ck_assert(lease_is_given_up(holder));
    holder = lease_hold(path, F_RDLCK);
    ck_assert_uint_ne(opened(name, O_WRONLY | O_CREAT | O_TRUNC, &error), 0);
    ck_assert(lease_is_given_up(holder));
}

TEST(names_have_a_length)
{
    char path[2 * PATH_BYTES], real[PATH_BYTES];
    int error;
    enter(false);
    memset(path, 'x', sizeof(path));
    path[300] = '\0';
    ck_assert_uint_eq(opened(path, O_RDONLY, &error), 0);
    ck_assert_int_eq(error, ENAMETOOLONG);
    ck_assert_int_eq(paths_real(&paths, real, path), ENAMETOOLONG);
    for (size_t i = 0; i < 4095; i++) {
        path[i] = i % 2 == 0 ? '.' : '/';
    }
    path[4095] = '\0';
    ck_assert_int_eq(paths_real(&paths, real, path), 0);
    ck_assert_str_eq(real, "/");
}
