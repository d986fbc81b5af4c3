/* config.c - has the words of GPUFL_SIM and --errors, as two tables and one parser.
 *
 * Everything here is constant; any thread may read it. */
#include "backend/sim/sim.h"
#include "base/opt.h"

#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 64 }; /* of a key or a value */

struct key {
    const char *name;
    size_t offset; /* of the int64_t in struct sim_config */
    bool size;     /* takes 64G and the like */
    int64_t least, most;
};

#define KEY(name, size, least, most)                                                               \
    {                                                                                              \
#name, offsetof(struct sim_config, name), size, least, most                                \
    }

static const struct key keys[] = {
    KEY(devices, false, 1, SIM_DEVICES_MAX),
    KEY(streams, false, 1, 64),
    KEY(seed, false, 0, INT64_MAX),
    KEY(rate, false, 0, 10000000),
    KEY(load, false, 1, 100),
    KEY(memory, true, 1ll << 30, 1ll << 40),
    KEY(concurrency, false, 1, 32),
    KEY(correlation, false, 1, UINT32_MAX),
};

static const struct {
    const char *name;
    bool number;
} errors[SIM_ERROR_COUNT] = {
#define SIM_ERROR_ROW(id, key, number, doc) {key, number != NULL},
    SIM_ERRORS(SIM_ERROR_ROW)
#undef SIM_ERROR_ROW
};

void sim_config_init(struct sim_config *c)
{
    *c = (struct sim_config){
        .devices = 1,
        .streams = 4,
        .seed = 1,
        .rate = 1000,
        .load = 60,
        .memory = 141ll << 30,
        .concurrency = 4,
        .correlation = 1,
        .lossless = true,
    };
}

/* Cuts the next item off *text at one of the separators into out. False at the end. */
static bool next_item(const char **text, const char *separators, char *out)
{
    if (!**text)
        return false;
    size_t n = strcspn(*text, separators);
    size_t kept = n < TEXT_MAX - 1 ? n : TEXT_MAX - 1;
    memcpy(out, *text, kept);
    out[kept] = '\0';
    *text += n + ((*text)[n] != '\0');
    return true;
}

static int set_error(struct sim_config *c, const char *item, struct err *e)
{
    char name[TEXT_MAX];
    const char *rest = item;
    next_item(&rest, ":", name);
    for (int i = 0; i < SIM_ERROR_COUNT; i++) {
        if (strcmp(name, errors[i].name))
            continue;
        c->every[i] = 1;
        if (!*rest)
            return 0;
        if (!errors[i].number)
            return err_set(e, GPUFL_E_INVAL, "simulated error '%s' takes no number", name);
        if (opt_int(rest, &c->every[i]) || c->every[i] < 1)
            return err_set(e, GPUFL_E_INVAL,
                           "simulated error '%s': '%s' is not a number from 1 (one in N)", name,
                           rest);
        return 0;
    }
    char known[256] = "";
    for (int i = 0; i < SIM_ERROR_COUNT; i++) {
        strcat(known, i ? ", " : "");
        strcat(known, errors[i].name);
    }
    return err_set(e, GPUFL_E_INVAL, "'%s' is not a simulated error; known are %s", name, known);
}

int sim_config_errors(struct sim_config *c, const char *text, struct err *e)
{
    char item[TEXT_MAX];
    int rc = 0;
    while (!rc && next_item(&text, ",+", item))
        if (*item)
            rc = set_error(c, item, e);
    return rc;
}

static const char *const plants[SIM_PLANT_COUNT] = {
#define SIM_PLANT_ROW(id, key, doc) key,
    SIM_PLANTS(SIM_PLANT_ROW)
#undef SIM_PLANT_ROW
};

int sim_config_plants(struct sim_config *c, const char *text, struct err *e)
{
    char item[TEXT_MAX];
    while (next_item(&text, ",+", item)) {
        int i = 0;
        while (i < SIM_PLANT_COUNT && strcmp(item, plants[i]) != 0)
            i++;
        if (*item && i == SIM_PLANT_COUNT)
            return err_set(e, GPUFL_E_INVAL,
                           "'%s' is not a fault to plant; known are stall, divergence, "
                           "uncoalesced, conflicts",
                           item);
        c->plants |= *item ? 1ll << i : 0;
    }
    return 0;
}

static int set_key(struct sim_config *c, const char *name, const char *value, struct err *e)
{
    if (!strcmp(name, "errors"))
        return sim_config_errors(c, value, e);
    if (!strcmp(name, "plant"))
        return sim_config_plants(c, value, e);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct key *k = &keys[i];
        if (strcmp(name, k->name))
            continue;
        int64_t v;
        int rc = k->size ? opt_size(value, &v) : opt_int(value, &v);
        if (rc || v < k->least || v > k->most)
            return err_set(e, GPUFL_E_INVAL,
                           "GPUFL_SIM: %s=%s is not a number between %lld and %lld", name, value,
                           (long long)k->least, (long long)k->most);
        memcpy((char *)c + k->offset, &v, sizeof v);
        return 0;
    }
    return err_set(e, GPUFL_E_INVAL,
                   "GPUFL_SIM: '%s' is not a key; known are devices, streams, seed, rate, load, "
                   "memory, concurrency, correlation, plant and errors",
                   name);
}

int sim_config_parse(struct sim_config *c, const char *text, struct err *e)
{
    char item[TEXT_MAX * 4];
    int rc = 0;
    while (!rc && *text) {
        size_t n = strcspn(text, ", ");
        if (n >= sizeof item)
            return err_set(e, GPUFL_E_INVAL, "GPUFL_SIM: '%.40s…' is too long", text);
        memcpy(item, text, n);
        item[n] = '\0';
        text += n + (text[n] != '\0');
        char *value = strchr(item, '=');
        if (value) {
            *value = '\0';
            rc = set_key(c, item, value + 1, e);
        } else if (*item) {
            rc = err_set(e, GPUFL_E_INVAL, "GPUFL_SIM: '%s' is not of the form key=value", item);
        }
    }
    return rc;
}
