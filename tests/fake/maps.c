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

int maps_large(void)
{
    char line[1024];
    uint64_t from, to;
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2 && strstr(line, " rw-p "))
            count += (int)((to - from) / (128 << 20));
    if (f)
        fclose(f);
    return count;
}
