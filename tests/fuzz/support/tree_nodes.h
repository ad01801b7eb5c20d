/*
 * The nodes and names of tree.c, for its system calls.
 */
#ifndef WREN_TREE_NODES_H
#define WREN_TREE_NODES_H

#include "tree.h"

#define TREE_ROOT  0
#define TREE_NODES 96
#define TREE_NAMES 128
#define TREE_NAME  256
#define TREE_PATH  4096
#define TREE_FILE  4096   /* no file grows to more */
#define TREE_BIG   300000 /* but one, whose content is made as it is read */

struct tree_node {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    int64_t accessed, modified;
    int parent; /* of a directory */
    size_t bytes;
    char content[TREE_FILE]; /* of a link: the target, with a NUL */
};

struct tree_name {
    int directory, node;
    char name[TREE_NAME]; /* "": free */
};

extern struct tree {
    struct tree_node nodes[TREE_NODES];
    struct tree_name names[TREE_NAMES];
    int node_count;
    int jail, moved, working;
} tree;

/* Where a path starts when it is absolute, and whether a link at its end stays. */
struct tree_walk {
    int root;
    bool keep_last;
    unsigned links;
};

/* The last name of a path, in its directory; `missing`: only this one is not there. */
struct tree_place {
    int directory;
    bool missing;
    char name[TREE_PATH];
};

/* The node, or -1 with errno. */
int tree_walk(struct tree_walk *walk, int at, const char *path, struct tree_place *place);

int tree_add(int directory, const char *name, mode_t mode, const char *content);
int tree_link(int directory, const char *name, int node);
struct tree_name *tree_find(int directory, const char *name);
bool tree_is_inside(int node, int directory);

#endif
