/* settings.c - `--option NAME=VALUE`.
 *
 * A value is checked before the program starts, by the function with which the library reads it. So
 * a wrong value is a usage error, and not a warning of the library in the middle of the program. */
#include "cli/trace/options/settings.h"

#include "capture/options/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lists options that the launcher sets itself, and how a person sets them. */
static const struct {
    enum option_id id;
    const char *instead;
} reserved[] = {
    {OPT_log_path, "use --output"},
    {OPT_run_id, "gpufl trace chooses it"},
    {OPT_pass, "use --passes"},
    {OPT_passes, "use --passes"},
    {OPT_remote_upload, "it has no effect"},
};

bool setting_is(const char *pair, const char *name)
{
    size_t n = strlen(name);
    return strncmp(pair, name, n) == 0 && pair[n] == '=';
}

static int check_name(const char *name, int *id, struct err *e)
{
    const char *near = NULL;
    *id = option_find(name, &near);
    if (*id < 0 && near)
        return err_set(e, GPUFL_E_INVAL, "there is no option '%s'; did you mean '%s'?", name, near);
    if (*id < 0)
        return err_set(e, GPUFL_E_INVAL,
                       "there is no option '%s'; `gpufl info --options` lists them", name);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if ((int)reserved[i].id == *id)
            return err_set(e, GPUFL_E_INVAL, "option '%s' cannot be set here: %s", name,
                           reserved[i].instead);
    return GPUFL_OK;
}

int setting_check(const char *pair, char *out, size_t size, struct err *e)
{
    const char *value = strchr(pair, '=');
    char name[64], path[PATH_MAX], allowed[160];
    int id;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(pair, "="), pair);
    int rc = check_name(name, &id, e);
    if (rc)
        return rc;
    if (!value) {
        option_allowed((enum option_id)id, allowed, sizeof allowed);
        return err_set(e, GPUFL_E_INVAL, "option '%s' needs a value: %s=VALUE, %s", name, name,
                       allowed);
    }
    rc = option_check((enum option_id)id, ++value, e);
    if (rc)
        return rc;
    if (id == OPT_config_file && *value) {
        if (!realpath(value, path) || access(path, R_OK) != 0)
            return err_set(e, GPUFL_E_INVAL, "option 'config_file': cannot read %s: %s", value,
                           strerror(errno));
        value = path; /* the program may change its directory before it is read */
    }
    if (!strchr(value, '\n') && snprintf(out, size, "%s=%s", name, value) < (int)size)
        return GPUFL_OK;
    return err_set(e, GPUFL_E_INVAL, "option '%s': the value is too long or holds a line break",
                   name);
}
