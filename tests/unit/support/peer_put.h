/* peer_put.h - for tests: puts rows of ours into an encoder to the public client's lines. Include
 * cmocka.h after this file. */
#ifndef TESTS_UNIT_PEER_PUT_H
#define TESTS_UNIT_PEER_PUT_H

#include "wire/peer/encode.h"

/* ROWS(e, kernel, {.start = 1}, {.start = 2}); */
#define ROWS(e, type, ...)                                                                         \
    do {                                                                                           \
        const struct type##_row rows_[] = {__VA_ARGS__};                                           \
        assert_int_equal(peer_encoder_rows(e, RECORD_##type, (const int64_t *)rows_,               \
                                           sizeof rows_ / sizeof *rows_),                          \
                         0);                                                                       \
    } while (0)

/* Puts the texts as names, with ids from that one on. */
#define NAMES(e, first, texts)                                                                     \
    do {                                                                                           \
        for (uint32_t i_ = 0; i_ < sizeof(texts) / sizeof *(texts); i_++)                          \
            assert_int_equal(peer_encoder_name(e, (first) + i_, (texts)[i_], strlen((texts)[i_])), \
                             0);                                                                   \
    } while (0)

#endif
