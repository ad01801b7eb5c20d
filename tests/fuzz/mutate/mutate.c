#include "mutate.h"

#include <string.h>

#define CONTENT_BYTES 4096
#define TAG           "wrn!\0\0\0\0\0\0\0\0\0\0\0\0"
#define TAG_BYTES     16

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t room, unsigned seed);

struct mutant {
    uint8_t *bytes;
    size_t size, room;
    uint32_t random;
    struct mutate_parts parts;
};

/* xorshift32 */
static uint32_t below(struct mutant *mutant, uint32_t limit)
{
    mutant->random ^= mutant->random << 13;
    mutant->random ^= mutant->random >> 17;
    mutant->random ^= mutant->random << 5;
    return mutant->random % limit;
}

static void find_parts(struct mutate_parts *parts, const uint8_t *bytes, size_t size)
{
    parts->count = 0;
    mutate_find(parts, (struct input){bytes, size});
}

int mutate_add(struct mutate_parts *parts, int kind, int parent, size_t at, size_t end)
{
    if (parts->count == MUTATE_PARTS) {
        return -1;
    }
    parts->part[parts->count] = (struct mutate_part){
        .at = at, .end = end, .content = at, .content_end = end, .kind = kind, .parent = parent};
    return parts->count++;
}

static size_t read_number(const uint8_t *bytes, size_t count)
{
    size_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static void write_number(uint8_t *bytes, size_t count, size_t number)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(number >> 8 * (count - 1 - i));
    }
}

size_t mutate_add_counted(struct mutate_parts *parts, int kind, int parent, struct input input,
                          size_t at, size_t length_bytes, size_t most)
{
    if (at > most || most - at < length_bytes) {
        return SIZE_MAX;
    }
    size_t count = read_number(input.at + at, length_bytes);
    if (count > most - at - length_bytes) {
        return SIZE_MAX;
    }
    size_t end = at + length_bytes + count;
    int number = mutate_add(parts, kind, parent, at, end);
    if (number < 0) {
        return SIZE_MAX;
    }
    parts->part[number].content = parts->part[number].length = at;
    parts->part[number].content += length_bytes;
    parts->part[number].length_bytes = length_bytes;
    return end;
}

/* ---- keeping an input whole ------------------------------------------------------------------ */

static bool splice(struct mutant *mutant, size_t at, size_t gone, const uint8_t *put, size_t count)
{
    size_t after = mutant->size - at - gone;
    if (mutant->size - gone + count > mutant->room) {
        return false;
    }
    memmove(mutant->bytes + at + count, mutant->bytes + at + gone, after);
    if (count > 0) {
        memcpy(mutant->bytes + at, put, count);
    }
    mutant->size = at + count + after;
    return true;
}

static size_t padding_of(size_t payload, bool sealed)
{
    size_t counted = payload + (sealed ? 1 : 5);
    return 4 + (8 - (counted + 4) % 8) % 8;
}

/* Pads a packet again whose payload now ends at `payload_end`; `rest` bytes of it follow. */
static void pad(struct mutant *mutant, const struct mutate_part *packet, size_t payload_end,
                size_t rest)
{
    static const uint8_t zeros[16];
    bool sealed = packet->form == MUTATE_SEALED;
    size_t tag = sealed ? TAG_BYTES : 0;
    size_t payload = payload_end - packet->content;
    size_t padding = padding_of(payload, sealed);
    if (rest >= tag && splice(mutant, payload_end, rest - tag, zeros, padding)) {
        write_number(mutant->bytes + packet->at, 4, 1 + payload + padding);
        mutant->bytes[packet->at + 4] = (uint8_t)padding;
    }
}

/* Puts other bytes in a place within part `inside`, or within none, and corrects the lengths. */
static void replace(struct mutant *mutant, int inside, size_t at, size_t gone, const uint8_t *put,
                    size_t count)
{
    if (!splice(mutant, at, gone, put, count)) {
        return;
    }
    for (int i = inside; i >= 0; i = mutant->parts.part[i].parent) {
        const struct mutate_part *part = &mutant->parts.part[i];
        size_t content = part->content_end - part->content + count - gone;
        if (part->form >= MUTATE_PACKET) {
            pad(mutant, part, part->content + content, part->end - part->content_end);
        } else if (part->length_bytes > 0) {
            write_number(mutant->bytes + part->length, part->length_bytes, content);
        }
    }
}

/* ---- mutations ------------------------------------------------------------------------------- */

static void change(struct mutant *mutant, int number)
{
    static uint8_t content[CONTENT_BYTES];
    const struct mutate_part *part = &mutant->parts.part[number];
    size_t count = part->content_end - part->content;
    if (count > sizeof(content) / 2) {
        return;
    }
    memcpy(content, mutant->bytes + part->content, count);
    size_t made = LLVMFuzzerMutate(content, count, sizeof(content));
    made = part->form == MUTATE_NUMBER ? count : made;
    replace(mutant, number, part->content, count, content, made);
}

static void drop(struct mutant *mutant, int number)
{
    const struct mutate_part *part = &mutant->parts.part[number];
    if (part->form != MUTATE_NUMBER) {
        replace(mutant, part->parent, part->at, part->end - part->at, NULL, 0);
    }
}

/* Puts a part's bytes before another of its kind, or in its place. */
static void put(struct mutant *mutant, int number, const uint8_t *bytes, size_t count)
{
    static uint8_t whole[2 * CONTENT_BYTES];
    const struct mutate_part *part = &mutant->parts.part[number];
    uint8_t separator = mutate_separator(part->kind);
    if (count == 0 || count >= sizeof(whole)) {
        return;
    }
    memcpy(whole, bytes, count);
    if (separator != 0 && whole[count - 1] != separator) {
        whole[count++] = separator;
    }
    bool instead = part->form == MUTATE_NUMBER || below(mutant, 3) == 0;
    replace(mutant, part->parent, part->at, instead ? part->end - part->at : 0, whole, count);
}

/* A random part of this kind, or -1. */
static int pick(struct mutant *mutant, const struct mutate_parts *parts, int kind)
{
    int chosen = -1;
    uint32_t seen = 0;
    for (int i = 0; i < parts->count; i++) {
        if (parts->part[i].kind == kind && below(mutant, ++seen) == 0) {
            chosen = i;
        }
    }
    return chosen;
}

static void put_from(struct mutant *mutant, int number, const uint8_t *bytes,
                     const struct mutate_parts *parts)
{
    int from = pick(mutant, parts, mutant->parts.part[number].kind);
    if (from >= 0) {
        put(mutant, number, bytes + parts->part[from].at,
            parts->part[from].end - parts->part[from].at);
    }
}

static size_t frame(uint8_t *out, const struct mutate_word *word, bool sealed)
{
    size_t padding = padding_of(word->size, sealed);
    write_number(out, 4, 1 + word->size + padding);
    out[4] = (uint8_t)padding;
    memcpy(out + 5, word->bytes, word->size);
    memset(out + 5 + word->size, 0, padding);
    memcpy(out + 5 + word->size + padding, TAG, TAG_BYTES);
    return 5 + word->size + padding + (sealed ? TAG_BYTES : 0);
}

static void put_word(struct mutant *mutant, int number)
{
    uint8_t framed[CONTENT_BYTES];
    enum mutate_form form = mutant->parts.part[number].form;
    const struct mutate_word *chosen = NULL;
    uint32_t seen = 0;
    for (size_t i = 0; i < mutate_word_count; i++) {
        if (mutate_words[i].kind == mutant->parts.part[number].kind && below(mutant, ++seen) == 0) {
            chosen = &mutate_words[i];
        }
    }
    if (chosen != NULL && form >= MUTATE_PACKET) {
        put(mutant, number, framed, frame(framed, chosen, form == MUTATE_SEALED));
    } else if (chosen != NULL) {
        put(mutant, number, (const uint8_t *)chosen->bytes, chosen->size);
    }
}

static void mutate_once(struct mutant *mutant)
{
    find_parts(&mutant->parts, mutant->bytes, mutant->size);
    if (mutant->parts.count == 0) {
        return;
    }
    int number = (int)below(mutant, (uint32_t)mutant->parts.count);
    switch (below(mutant, 8)) {
    case 0:
        drop(mutant, number);
        break;
    case 1:
    case 2:
        put_from(mutant, number, mutant->bytes, &mutant->parts);
        break;
    case 3:
    case 4:
        put_word(mutant, number);
        break;
    default:
        change(mutant, number);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    static struct mutant mutant;
    mutant = (struct mutant){.bytes = data, .size = size, .room = room, .random = seed | 1};
    if (below(&mutant, 4) == 0) {
        return LLVMFuzzerMutate(data, size, room);
    }
    for (uint32_t left = 1 + below(&mutant, 3); left > 0; left--) {
        mutate_once(&mutant);
    }
    return mutant.size > 0 ? mutant.size : LLVMFuzzerMutate(data, size, room);
}

/* Parts of the other input, before parts of their kinds or in their places. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t room, unsigned seed)
{
    static struct mutant mutant;
    static struct mutate_parts others;
    mutant = (struct mutant){.bytes = out, .size = size, .room = room, .random = seed | 1};
    if (size > room) {
        return 0;
    }
    memcpy(out, data, size);
    find_parts(&others, other, other_size);
    for (uint32_t left = 1 + below(&mutant, 3); left > 0; left--) {
        find_parts(&mutant.parts, mutant.bytes, mutant.size);
        if (mutant.parts.count > 0) {
            put_from(&mutant, (int)below(&mutant, (uint32_t)mutant.parts.count), other, &others);
        }
    }
    return mutant.size;
}
