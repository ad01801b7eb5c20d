/* Test vectors of RFC 7748 sections 5.2 and 6.1 (X25519), as hexadecimal digits. */
#ifndef WREN_VECTORS_RFC7748_H
#define WREN_VECTORS_RFC7748_H

struct x25519_vector {
    const char *scalar;
    const char *point;
    const char *out;
};

/* Section 5.2, and section 6.1 with Bob's secret and Alice's public key. */
static const struct x25519_vector rfc7748_x25519[] = {
    {"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
     "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
     "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"},
    {"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
     "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
     "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"},
    {"5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
     "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
     "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"},
};

/* Section 6.1: the public key of rfc7748_x25519[2].scalar. */
static const char rfc7748_public_key[] =
    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";

/* Section 5.2: scalar and point 9, the old scalar being the next point, 1 and 1000 times. */
static const char rfc7748_once[] =
    "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
static const char rfc7748_1000_times[] =
    "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51";

#endif
