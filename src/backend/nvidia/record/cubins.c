/* cubins.c - see cubins.h. */
#include "backend/nvidia/record/cubins.h"

typedef int checksum_fn(struct pc_crc_params *p);

static bool checksum_of(void *arg, const void *code, size_t size, uint64_t *crc)
{
    checksum_fn *const *checksum = arg;
    struct pc_crc_params p = {.size = sizeof p, .bytes = size, .cubin = code};
    if (!*checksum || (*checksum)(&p) != CUPTI_OK)
        return false;
    *crc = p.crc;
    return true;
}

void cubins_drain(int (*checksum)(struct pc_crc_params *), struct sink *s)
{
    const struct code_naming names = {checksum_of, &checksum, ".cubin"};
    code_copies_drain(&names, s);
}
