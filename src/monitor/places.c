/* places.c - see places.h. */
#include "monitor/places.h"

#include <stdio.h>
#include <unistd.h>

bool places_path(int place, const char *user, const char *file, char *out, size_t size)
{
    int n = -1;
    if (place == 0)
        n = snprintf(out, size, "%s/%s", PLACES_MONITOR_FOLDER, file);
    else if (place == 1 && user)
        n = snprintf(out, size, "%s/%s/%s", user, PLACES_MONITOR_NAME, file);
    else if (place == 2)
        n = snprintf(out, size, "/tmp/%s-%u/%s", PLACES_MONITOR_NAME, (unsigned)geteuid(), file);
    return n > 0 && (size_t)n < size;
}

bool places_is_trusted(int place, const struct stat *st)
{
    return place == 0 || st->st_uid == geteuid() || st->st_uid == 0;
}
