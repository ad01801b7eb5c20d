/*
 * src/net/net.h with buffers of one byte and without the pool's chunks: what is
 * proved with it reads and writes none of these bytes, and CBMC would make variables of them all.
 */
#ifndef WREN_PROOFS_SMALL_H
#define WREN_PROOFS_SMALL_H

#include "ipc.h" /* with the real limits: it asserts the sizes of its structs */
#include "limit.h"

#pragma push_macro("LIMIT_CHANNELS")
#pragma push_macro("LIMIT_WINDOWS_BYTES")
#pragma push_macro("LIMIT_ENVIRONMENT_BYTES")
#pragma push_macro("LIMIT_TERM_BYTES")
#undef LIMIT_CHANNELS
#undef LIMIT_WINDOWS_BYTES
#undef LIMIT_ENVIRONMENT_BYTES
#undef LIMIT_TERM_BYTES
#define LIMIT_CHANNELS          0
#define LIMIT_WINDOWS_BYTES     0
#define LIMIT_ENVIRONMENT_BYTES 1
#define LIMIT_TERM_BYTES        1
#include "channels.h"
#pragma pop_macro("LIMIT_CHANNELS")
#pragma pop_macro("LIMIT_WINDOWS_BYTES")
#pragma pop_macro("LIMIT_ENVIRONMENT_BYTES")
#pragma pop_macro("LIMIT_TERM_BYTES")

#pragma push_macro("LIMIT_KEXINIT_BYTES")
#pragma push_macro("LIMIT_CLIENT_KEXINIT_BYTES")
#pragma push_macro("LIMIT_DEFERRED_BYTES")
#pragma push_macro("LIMIT_INPUT_BYTES")
#pragma push_macro("LIMIT_OUTPUT_BYTES")
#pragma push_macro("LIMIT_HOST_CERTIFICATE_BYTES")
#undef LIMIT_KEXINIT_BYTES
#undef LIMIT_CLIENT_KEXINIT_BYTES
#undef LIMIT_DEFERRED_BYTES
#undef LIMIT_INPUT_BYTES
#undef LIMIT_OUTPUT_BYTES
#undef LIMIT_HOST_CERTIFICATE_BYTES
#define LIMIT_KEXINIT_BYTES          1
#define LIMIT_CLIENT_KEXINIT_BYTES   1
#define LIMIT_DEFERRED_BYTES         1
#define LIMIT_INPUT_BYTES            1
#define LIMIT_OUTPUT_BYTES           1
#define LIMIT_HOST_CERTIFICATE_BYTES 1
#define _Static_assert(condition, text)
#include "net.h"
#undef _Static_assert
#pragma pop_macro("LIMIT_KEXINIT_BYTES")
#pragma pop_macro("LIMIT_CLIENT_KEXINIT_BYTES")
#pragma pop_macro("LIMIT_DEFERRED_BYTES")
#pragma pop_macro("LIMIT_INPUT_BYTES")
#pragma pop_macro("LIMIT_OUTPUT_BYTES")
#pragma pop_macro("LIMIT_HOST_CERTIFICATE_BYTES")

#endif
