/*
 * Plays inputs to a fuzz target that is built without a fuzzer: a corpus as a regression test, a
 * finding in a debugger, or standard input.
 *
 *     fuzz_NAME [FILE...]
 *
 * A FILE that ends in ".pack" is a whole corpus: see tests/fuzz/pack.py. Exits with 77, "skipped"
 * for Meson, if there is no input at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static size_t played;

static void play(const uint8_t *data, size_t size)
{
    uint8_t *copy = input_copy((struct input){data, size});
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    played++;
}

static uint8_t *read_all(FILE *file, size_t *size)
{
    size_t room = 1 << 16;
    uint8_t *bytes = malloc(room);
    *size = 0;
    for (;;) {
        if (bytes == NULL) {
            abort();
        }
        *size += fread(bytes + *size, 1, room - *size, file);
        if (*size < room) {
            return bytes;
        }
        room *= 2;
        bytes = realloc(bytes, room);
    }
}

/* Each input: four bytes with its length, most significant first, and its bytes. */
static bool play_pack(struct input pack)
{
    while (pack.left >= 4) {
        uint32_t size = input_u32(&pack);
        const struct input one = input_take(&pack, size);
        if (one.left < size) {
            return false;
        }
        play(one.at, one.left);
    }
    return pack.left == 0;
}

static bool play_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        perror(name);
        return false;
    }
    size_t size;
    uint8_t *bytes = read_all(file, &size);
    fclose(file);
    const char *dot = strrchr(name, '.');
    bool whole = true;
    if (dot != NULL && strcmp(dot, ".pack") == 0) {
        whole = play_pack((struct input){bytes, size});
    } else {
        play(bytes, size);
    }
    free(bytes);
    if (!whole) {
        fprintf(stderr, "%s: cut short\n", name);
    }
    return whole;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        size_t size;
        uint8_t *bytes = read_all(stdin, &size);
        play(bytes, size);
        free(bytes);
    }
    for (int i = 1; i < argc; i++) {
        if (!play_file(argv[i])) {
            return 1;
        }
    }
    printf("%zu inputs played\n", played);
    return played > 0 ? 0 : 77;
}
