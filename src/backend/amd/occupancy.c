/* occupancy.c - see occupancy.h. The table has the units of each family; the first row that fits
 * counts. */
#include "backend/amd/occupancy.h"

#include <stddef.h>

enum { ANY = -1, KIB = 1024, GROUP_MOST = 1024 };

/* Says how accumulation registers count. */
enum agprs { AGPRS_NONE, AGPRS_APART, AGPRS_UNIFIED };

/* Holds numbers for wave64; with RDNA's wave32, registers and granule are twice as many. */
static const struct family {
    int major, minor, first, last; /* of the target's step */
    int waves;                     /* slots of a SIMD */
    int simds;                     /* of a compute unit */
    int vgprs, granule;            /* of a SIMD, 32 bits for each work-item */
    int sgprs;                     /* of a SIMD; 0: never the limit */
    int lds_kib;                   /* of a compute unit */
    int lds_granule;               /* bytes */
    enum agprs agprs;
    bool rdna;
} families[] = {
    {9, 0, 8, 8, 10, 4, 256, 4, 800, 64, 512, AGPRS_APART, false},  /* CDNA1 */
    {9, 0, 10, 10, 8, 4, 512, 8, 0, 64, 512, AGPRS_UNIFIED, false}, /* CDNA2 */
    {9, 0, 0, 6, 10, 4, 256, 4, 800, 64, 512, AGPRS_NONE, false},   /* Vega */
    {9, 4, 0, 2, 8, 4, 512, 8, 0, 64, 512, AGPRS_UNIFIED, false},   /* CDNA3 */
    {9, 5, 0, 0, 8, 4, 512, 8, 0, 160, 1280, AGPRS_UNIFIED, false}, /* CDNA4 */
    {10, 1, 0, 3, 20, 2, 512, 4, 0, 64, 512, AGPRS_NONE, true},     /* RDNA1 */
    {10, 3, 0, 6, 16, 2, 512, 8, 0, 64, 1024, AGPRS_NONE, true},    /* RDNA2 */
    {11, 0, 0, 1, 16, 2, 768, 12, 0, 64, 1024, AGPRS_NONE, true},   /* RDNA3 */
    {11, 0, 2, 3, 16, 2, 512, 8, 0, 64, 1024, AGPRS_NONE, true},
    {11, 5, 1, 1, 16, 2, 768, 12, 0, 64, 1024, AGPRS_NONE, true},
    {11, 5, 0, 3, 16, 2, 512, 8, 0, 64, 1024, AGPRS_NONE, true},
    {12, 0, 0, 1, 16, 2, 768, 12, 0, 64, 1024, AGPRS_NONE, true}, /* RDNA4 */
};

/* A compute unit has barriers for this many workgroups of more than one wavefront. */
enum { GROUPS_OF_CU = 16 };

static const struct family *family_of(const struct amd_target *t)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct family *f = &families[i];
        if (f->major == t->major && f->minor == t->minor && t->step >= f->first &&
            t->step <= f->last)
            return f;
    }
    return NULL;
}

static int64_t round_up(int64_t v, int64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the number of wavefronts of a SIMD that its vector registers allow. */
static int64_t waves_by_vgprs(const struct family *f, const struct amd_kernel *k)
{
    int64_t wide = f->rdna && k->wave == 32 ? 2 : 1, n = k->vgprs;
    if (f->agprs == AGPRS_UNIFIED && k->agprs)
        n = round_up(k->vgprs, 4) + k->agprs;
    else if (f->agprs == AGPRS_APART && k->agprs > n)
        n = k->agprs;
    return n ? least(f->waves, f->vgprs * wide / round_up(n, f->granule * wide)) : f->waves;
}

static int64_t waves_by_sgprs(const struct family *f, const struct amd_kernel *k)
{
    enum { TEN_WAVES = 80, NINE_WAVES = 88 };
    if (!f->sgprs)
        return AMD_NO_LIMIT;
    return k->sgprs <= TEN_WAVES ? 10 : k->sgprs <= NINE_WAVES ? 9 : 8;
}

static bool is_sound(const struct family *f, const struct amd_kernel *k)
{
    return f && (k->wave == 64 || (k->wave == 32 && f->rdna)) && (f->rdna || !k->wgp) &&
           k->vgprs >= 0 && k->vgprs <= 1024 && k->agprs >= 0 && k->agprs <= 512 && k->sgprs >= 0 &&
           k->sgprs <= 128 && k->lds >= 0 && k->lds <= f->lds_kib * KIB && k->workgroup > 0 &&
           k->workgroup <= GROUP_MOST;
}

bool amd_occupancy(const struct amd_kernel *k, struct amd_occupancy *out)
{
    const struct family *f = family_of(&k->target);
    if (!is_sound(f, k))
        return false;
    int64_t units = k->wgp ? 2 : 1, simds = units * f->simds; /* that the workgroup runs on */
    int64_t waves = (k->workgroup + k->wave - 1) / k->wave;   /* of a workgroup */
    int64_t by_sgprs = waves_by_sgprs(f, k);
    int64_t lds = round_up(k->lds, f->lds_granule);
    out->waves_most = simds * f->waves;
    out->limits[AMD_WAVEFRONTS] = out->waves_most / waves;
    out->limits[AMD_VGPRS] = simds * waves_by_vgprs(f, k) / waves;
    out->limits[AMD_SGPRS] = by_sgprs == AMD_NO_LIMIT ? by_sgprs : simds * by_sgprs / waves;
    out->limits[AMD_LDS] = lds ? units * f->lds_kib * KIB / lds : AMD_NO_LIMIT;
    out->limits[AMD_WORKGROUPS] = waves > 1 ? units * GROUPS_OF_CU : AMD_NO_LIMIT;
    out->limiter = AMD_WAVEFRONTS;
    for (int i = AMD_VGPRS; i < AMD_LIMITS; i++)
        if (out->limits[i] < out->limits[out->limiter])
            out->limiter = (enum amd_limit)i;
    out->groups = out->limits[out->limiter];
    out->waves = out->groups * waves;
    return true;
}

const char *amd_limit_name(enum amd_limit l)
{
    static const char *const names[] = {"wavefronts", "vgprs", "sgprs", "lds", "workgroups"};
    return names[l];
}
