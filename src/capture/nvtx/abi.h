/* abi.h - declares the interface between an NVTX 3 client and a tool.
 *
 * Every library and program that uses NVTX contains a client: function pointers, which at
 * first do nothing. On its first call the client opens the library that
 * NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2 with a function that
 * returns tables; through these the tool replaces the pointers by its own functions.
 * This is the ABI of NVTX 3.0 and later, declared here like all vendors' interfaces (ADR 0001). */
#ifndef GPUFL_CAPTURE_NVTX_ABI_H
#define GPUFL_CAPTURE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_VARIABLE "NVTX_INJECTION64_PATH"

enum { NVTX_EXPORT_CALLBACKS = 1 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_DOMAINS = 5 };
enum { NVTX_ASCII = 1, NVTX_WIDE = 2, NVTX_REGISTERED = 3 }; /* nvtx_event.message_type */
enum {                                                       /* nvtx_event.payload_type */
       NVTX_UINT64 = 1,
       NVTX_INT64,
       NVTX_DOUBLE,
       NVTX_UINT32,
       NVTX_INT32,
       NVTX_FLOAT
};
enum { NVTX_UNTRACKED = -2 }; /* a push or pop without a level */

typedef void *nvtx_domain;   /* NULL: the default one */
typedef void *nvtx_string;   /* a registered one */
typedef uint64_t nvtx_range; /* 0: none */

struct nvtx_event {
    uint16_t version;
    uint16_t size; /* bytes that the client fills */
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload; /* a smaller type takes the first bytes in memory */
    int32_t message_type;
    union {
        const char *ascii; /* in practice UTF-8 */
        const wchar_t *wide;
        nvtx_string registered;
    } message;
};

struct nvtx_callbacks { /* export table NVTX_EXPORT_CALLBACKS */
    size_t size;        /* of this struct */
    /* The pointers of a module, by number, and how many there are; 0: no such module. A cell may be
     * NULL, and the first one always is. */
    int (*pointers)(int module, void (****table)(void), unsigned *count);
};

typedef const void *(*nvtx_export)(uint32_t table); /* NULL: no such table */

/* Lists the functions that are replaced: module, number, result, name, parameters. */
#define NVTX_FUNCTIONS(F)                                                                          \
    F(CORE, 1, void, mark_ex, (const struct nvtx_event *event))                                    \
    F(CORE, 2, void, mark_a, (const char *message))                                                \
    F(CORE, 3, void, mark_w, (const wchar_t *message))                                             \
    F(CORE, 4, nvtx_range, start_ex, (const struct nvtx_event *event))                             \
    F(CORE, 5, nvtx_range, start_a, (const char *message))                                         \
    F(CORE, 6, nvtx_range, start_w, (const wchar_t *message))                                      \
    F(CORE, 7, void, range_end, (nvtx_range range))                                                \
    F(CORE, 8, int, push_ex, (const struct nvtx_event *event))                                     \
    F(CORE, 9, int, push_a, (const char *message))                                                 \
    F(CORE, 10, int, push_w, (const wchar_t *message))                                             \
    F(CORE, 11, int, range_pop, (void))                                                            \
    F(DOMAINS, 1, void, domain_mark, (nvtx_domain domain, const struct nvtx_event *event))         \
    F(DOMAINS, 2, nvtx_range, domain_start, (nvtx_domain domain, const struct nvtx_event *event))  \
    F(DOMAINS, 3, void, domain_end, (nvtx_domain domain, nvtx_range range))                        \
    F(DOMAINS, 4, int, domain_push, (nvtx_domain domain, const struct nvtx_event *event))          \
    F(DOMAINS, 5, int, domain_pop, (nvtx_domain domain))                                           \
    F(DOMAINS, 10, nvtx_string, register_a, (nvtx_domain domain, const char *text))                \
    F(DOMAINS, 11, nvtx_string, register_w, (nvtx_domain domain, const wchar_t *text))             \
    F(DOMAINS, 12, nvtx_domain, create_a, (const char *name))                                      \
    F(DOMAINS, 13, nvtx_domain, create_w, (const wchar_t *name))

#endif
