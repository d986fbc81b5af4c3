/* maps.c - see maps.h. */
#include "maps.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int maps_libraries(const char *name, char *first, size_t size)
{
    char line[4400], seen[8][512];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    first[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        char *path = strchr(line, '/'), *base = path ? strrchr(path, '/') + 1 : NULL;
        bool known = !base || strncmp(base, name, strlen(name)) != 0;
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < count && !known; i++)
            known = !strcmp(seen[i], path);
        if (!known && count < 8)
            snprintf(seen[count++], sizeof seen[0], "%s", path);
    }
    if (f)
        fclose(f);
    if (count)
        snprintf(first, size, "%s", seen[0]);
    return count;
}

/* ThreadSanitizer maps memory for its threads next to a pool, which then looks like a part of it.
 * Unlike the pool's, that memory is reserved ("nr": is not). */
#ifdef __SANITIZE_THREAD__
enum { UNRESERVED_ONLY = 1 };
#else
enum { UNRESERVED_ONLY = 0 };
#endif

/* A sanitizer's shadow, which is cut into other pieces all the time, is far from every library. */
static bool is_near_libraries(uint64_t address)
{
    uint64_t here = (uint64_t)(uintptr_t)stdout,
             away = address > here ? address - here : here - address;
    return away < (uint64_t)1 << 40;
}

int maps_large(void)
{
    char line[1024];
    uint64_t from, to, bytes = 0;
    int count = 0;
    FILE *f = fopen("/proc/self/smaps", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
            bytes = strstr(line, " rw-p ") && is_near_libraries(from) ? to - from : 0;
        else if (!strncmp(line, "VmFlags:", 8) && (!UNRESERVED_ONLY || strstr(line, " nr")))
            count += (int)(bytes / (128 << 20));
    }
    if (f)
        fclose(f);
    return count;
}
