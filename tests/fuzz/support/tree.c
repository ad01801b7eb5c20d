#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tree_nodes.h"

struct tree_rules tree_rules;
struct tree tree;

static int new_node(mode_t mode)
{
    if (tree.node_count == TREE_NODES) {
        errno = ENOSPC;
        return -1;
    }
    tree.nodes[tree.node_count] =
        (struct tree_node){.mode = mode, .uid = 1000, .gid = 1000, .accessed = 1, .modified = 2};
    return tree.node_count++;
}

int tree_add(int directory, const char *name, mode_t mode, const char *content)
{
    if (strlen(name) >= TREE_NAME) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int node = new_node(mode);
    if (node >= 0 && tree_link(directory, name, node) != 0) {
        return -1;
    }
    if (node >= 0) {
        size_t bytes = strlen(content);
        tree.nodes[node].parent = directory;
        tree.nodes[node].bytes = bytes < TREE_FILE ? bytes : TREE_FILE - 1;
        memcpy(tree.nodes[node].content, content, tree.nodes[node].bytes);
        tree.nodes[node].content[tree.nodes[node].bytes] = '\0';
    }
    return node;
}

int tree_link(int directory, const char *name, int node)
{
    for (int i = 0; i < TREE_NAMES; i++) {
        struct tree_name *free = &tree.names[i];
        if (free->name[0] == '\0') {
            free->directory = directory;
            free->node = node;
            strcpy(free->name, name);
            return 0;
        }
    }
    errno = ENOSPC;
    return -1;
}

struct tree_name *tree_find(int directory, const char *name)
{
    for (int i = 0; i < TREE_NAMES; i++) {
        if (tree.names[i].name[0] != '\0' && tree.names[i].directory == directory &&
            strcmp(tree.names[i].name, name) == 0) {
            return &tree.names[i];
        }
    }
    return NULL;
}

bool tree_is_inside(int node, int directory)
{
    while (node != directory && node != TREE_ROOT) {
        if (!S_ISDIR(tree.nodes[node].mode)) { /* by any of its names */
            for (int i = 0; i < TREE_NAMES; i++) {
                const struct tree_name *name = &tree.names[i];
                if (name->name[0] != '\0' && name->node == node &&
                    tree_is_inside(name->directory, directory)) {
                    return true;
                }
            }
            return false;
        }
        node = tree.nodes[node].parent;
    }
    return node == directory;
}

void tree_begin(void)
{
    memset(tree.names, 0, sizeof(tree.names));
    tree.node_count = 0;
    memset(&tree_rules, 0, sizeof(tree_rules));
    new_node(S_IFDIR | 0755);
    tree.nodes[TREE_ROOT].parent = TREE_ROOT;
    int etc = tree_add(TREE_ROOT, "etc", S_IFDIR | 0755, "");
    tree_add(etc, "passwd", S_IFREG | 0644,
             "root:x:0:0::/root:/bin/sh\nbob:x:1000:1000::/home/bob:/bin/sh\n#no\n");
    tree_add(etc, "group", S_IFREG | 0644, "root:x:0:\nbob:x:1000:\n");
    int srv = tree_add(TREE_ROOT, "srv", S_IFDIR | 0755, "");
    tree.jail = tree_add(srv, "jail", S_IFDIR | 0755, "");
    int other = tree_add(srv, "other", S_IFDIR | 0755, "");
    tree_add(other, "f", S_IFREG | 0600, "outside");
    tree_add(tree_add(TREE_ROOT, "home", S_IFDIR | 0755, ""), "bob", S_IFDIR | 0700, "");
    tree_add(tree.jail, "a", S_IFREG | 0644, "hello, world");
    tree.moved = tree_add(tree.jail, "d", S_IFDIR | 0755, "");
    tree_add(tree.moved, "f", S_IFREG | 0644, "in d");
    tree_add(tree.moved, "up", S_IFLNK | 0777, "..");
    tree_add(tree_add(tree.moved, "s", S_IFDIR | 0755, ""), "t", S_IFREG | 0600, "");
    tree_add(tree.jail, "out", S_IFLNK | 0777, "/srv/other");
    tree_add(tree.jail, "rel", S_IFLNK | 0777, "../other/f");
    tree_add(tree.jail, "self", S_IFLNK | 0777, "self");
    tree_add(tree.jail, "to-d", S_IFLNK | 0777, "/d/../d");
    tree_add(tree.jail, "new", S_IFLNK | 0777, "fresh");
    tree_add(tree.jail, "name", S_IFLNK | 0777, "/srv/./jail/a");
    int big = tree_add(tree.jail, "big", S_IFREG | 0444, "");
    tree.nodes[big].bytes = TREE_BIG;
    tree.working = tree.jail;
}

static void mix(uint64_t *sum, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *sum = (*sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3U;
    }
}

uint64_t tree_sum(bool outside)
{
    uint64_t sum = 0xcbf29ce484222325U;
    for (int i = 0; i < TREE_NAMES; i++) {
        const struct tree_name *name = &tree.names[i];
        if (name->name[0] == '\0' || (outside && tree_is_inside(name->node, tree.jail))) {
            continue;
        }
        const struct tree_node *node = &tree.nodes[name->node];
        const uint64_t numbers[] = {
            (uint64_t)name->directory, (uint64_t)name->node,     node->mode, node->uid, node->gid,
            (uint64_t)node->modified,  (uint64_t)node->accessed, node->bytes};
        mix(&sum, name->name, strlen(name->name));
        mix(&sum, numbers, sizeof(numbers));
        mix(&sum, node->content, node->bytes < TREE_FILE ? node->bytes : 0);
    }
    return sum;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A call looks at this node: in a jail it must be inside. */
static void look(int node)
{
    SIMULATION_CHECK(!tree_rules.jailed || tree_is_inside(node, tree.jail));
}

/* Another process puts a link that leads outside in the place of the directory `d`. */
static void race(void)
{
    struct tree_name *name = tree_find(tree.jail, "d");
    if (++tree_rules.calls == tree_rules.race_at && name != NULL) {
        strcpy(name->name, "moved");
        tree_add(tree.jail, "d", S_IFLNK | 0777, "/srv/other");
    }
}

static int step(const struct tree_walk *walk, int at, const char *name, struct tree_place *place)
{
    place->directory = at;
    strcpy(place->name, name);
    if (strcmp(name, ".") == 0) {
        return at;
    }
    if (strcmp(name, "..") == 0) {
        return at == walk->root ? at : tree.nodes[at].parent;
    }
    const struct tree_name *found = tree_find(at, name);
    errno = ENOENT;
    return found != NULL ? found->node : -1;
}

/* Puts a link's target before the rest of the path. */
static int follow(struct tree_walk *walk, char *rest, int node)
{
    char whole[2 * TREE_PATH];
    if (++walk->links > 40) {
        errno = ELOOP;
        return -1;
    }
    size_t bytes = strlen(tree.nodes[node].content) + 1 + strlen(rest);
    if (bytes >= TREE_PATH) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(whole, tree.nodes[node].content);
    strcat(strcat(whole, "/"), rest);
    if (rest[0] == '\0') {
        whole[strlen(whole) - 1] = '\0';
    }
    strcpy(rest, whole);
    return 0;
}

int tree_walk(struct tree_walk *walk, int at, const char *path, struct tree_place *place)
{
    char rest[TREE_PATH], name[TREE_PATH];
    race();
    if (path[0] == '\0' || strlen(path) >= TREE_PATH) {
        errno = path[0] == '\0' ? ENOENT : ENAMETOOLONG;
        return -1;
    }
    strcpy(rest, path);
    place->name[0] = '\0';
    place->directory = at;
    at = rest[0] == '/' ? walk->root : at;
    for (;;) {
        look(at);
        size_t slashes = strspn(rest, "/");
        size_t bytes = strcspn(rest + slashes, "/");
        if (bytes == 0) {
            return at;
        }
        if (!S_ISDIR(tree.nodes[at].mode) || bytes >= TREE_NAME) {
            errno = bytes >= TREE_NAME ? ENAMETOOLONG : ENOTDIR;
            return -1;
        }
        memcpy(name, rest + slashes, bytes);
        name[bytes] = '\0';
        memmove(rest, rest + slashes + bytes, strlen(rest + slashes + bytes) + 1);
        bool last = rest[strspn(rest, "/")] == '\0';
        int next = step(walk, at, name, place);
        if (next < 0) {
            place->missing = last;
            return -1;
        }
        bool slash = rest[0] == '/';
        if (S_ISLNK(tree.nodes[next].mode) && (!last || !walk->keep_last || slash)) {
            if (follow(walk, rest, next) != 0) {
                return -1;
            }
            at = rest[0] == '/' ? walk->root : at;
            continue;
        }
        look(next);
        if (last && slash && !S_ISDIR(tree.nodes[next].mode)) {
            errno = ENOTDIR;
            return -1;
        }
        at = next;
        if (last) {
            return at;
        }
    }
}
