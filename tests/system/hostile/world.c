/* The keys, users and files of all sequences. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "etc_elsewhere.h"

/* Ids that no user of a test machine has. */
#define USER_ID     61234
#define IDENTITY_ID 61235

__attribute__((noreturn)) static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* Steele, Lea and Flood's SplitMix64. */
uint64_t dice_next(struct dice *dice)
{
    uint64_t mixed = dice->state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

uint32_t dice_below(struct dice *dice, uint32_t limit)
{
    return (uint32_t)(dice_next(dice) % limit);
}

bool dice_one_in(struct dice *dice, uint32_t count)
{
    return dice_below(dice, count) == 0;
}

void dice_fill(struct dice *dice, void *out, size_t bytes)
{
    uint8_t *at = out;
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)dice_next(dice);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_file(const char *directory, const char *name, const void *bytes, size_t count,
                       uid_t owner)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count ||
        (owner != geteuid() && fchown(fd, owner, owner) != 0)) {
        die(path);
    }
    close(fd);
}

static void write_text(const char *directory, const char *name, const char *text, uid_t owner)
{
    write_file(directory, name, text, strlen(text), owner);
}

static void make_folder(char path[static PATH_BYTES], const struct world *world, const char *name,
                        uid_t owner)
{
    snprintf(path, PATH_BYTES, "%s/%s", world->folder, name);
    if (mkdir(path, 0755) != 0 || (owner != geteuid() && chown(path, owner, owner) != 0)) {
        die(path);
    }
}

static void make_key(struct key *key)
{
    crypto_sign_keypair(key->public_key, key->secret_key);
    hostkey_blob(key->blob, key->public_key);
}

static void make_host_key(struct world *world)
{
    struct key host;
    make_key(&host);
    make_folder(world->keydir, world, "keydir", geteuid());
    write_file(world->keydir, "ed25519.pk", host.public_key, sizeof(host.public_key), geteuid());
    write_file(world->keydir, ".ed25519.sk", host.secret_key, sizeof(host.secret_key), geteuid());
}

/* alice, and root, who lists no keys. */
static void make_users(struct world *world)
{
    static char etc[PATH_BYTES];
    char home[PATH_BYTES], text[512], base64[128];
    make_folder(etc, world, "etc", geteuid());
    make_folder(home, world, "home", world->user);
    snprintf(text, sizeof(text), "root:x:0:0::/nonexistent:/bin/sh\nalice:x:%u:%u::%s:/bin/sh\n",
             (unsigned)world->user, (unsigned)world->user, home);
    write_text(etc, "passwd", text, geteuid());
    write_text(etc, "group", "", geteuid());
    write_text(etc, "shadow", "", geteuid());
    etc_elsewhere = etc;
    sodium_bin2base64(base64, sizeof(base64), world->listed.blob, sizeof(world->listed.blob),
                      sodium_base64_VARIANT_ORIGINAL);
    snprintf(text, sizeof(text), "ssh-ed25519 %s\n", base64);
    write_text(home, "keys", text, world->user);
    snprintf(world->authkeys, sizeof(world->authkeys), "%%h/keys");
}

void world_make(struct world *world)
{
    umask(022);
    snprintf(world->folder, sizeof(world->folder), "/tmp/wren-hostile-XXXXXX");
    if (mkdtemp(world->folder) == NULL || chmod(world->folder, 0755) != 0) {
        die(world->folder);
    }
    world->as_root = geteuid() == 0;
    world->user = world->as_root ? USER_ID : geteuid();
    world->identity.uid = world->as_root ? IDENTITY_ID : geteuid();
    world->identity.gid = world->as_root ? IDENTITY_ID : getegid();
    make_key(&world->listed);
    make_key(&world->unlisted);
    make_host_key(world);
    make_users(world);
    world->options.keydir = world->keydir;
    world->options.authkeys[0] = world->authkeys;
    world->options.attempts = LIMIT_ATTEMPTS;
    world->options.subsystem_count = 1;
    world->options.subsystems[0] =
        (struct subsystem){.name = "nothing", .name_bytes = 7, .command = ":"};
}

static int remove_one(const char *path, const struct stat *found, int type, struct FTW *where)
{
    (void)found;
    (void)type;
    (void)where;
    return remove(path);
}

void world_remove(const struct world *world)
{
    nftw(world->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
