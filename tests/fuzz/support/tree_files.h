/*
 * Open files of the tree.
 */
#ifndef WREN_TREE_FILES_H
#define WREN_TREE_FILES_H

#include <sys/stat.h>
#include <time.h>

#include "tree.h"

int tree_open(int node, int flags);
int tree_stat(int node, struct stat *status);
int tree_set_times(int node, const struct timespec *times);
int tree_set_owner(int node, uid_t uid, gid_t gid);

/* As getdents64(2). */
long tree_list(int fd, void *out, size_t room);

#endif
