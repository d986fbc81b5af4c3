/* replay.c - runs a fuzz target over files, without libFuzzer: the inputs that fuzzing found are
 * tested in every build, with every compiler.
 *
 *   replay FOLDER...    every file below, in order of names; reaching the end is success */
#include "tests/fuzz/check.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_LEN = 4096 };

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st)) {
        perror(path);
        return -1;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size ? size : 1); /* ends where the heap block ends */
    int rc = data && fread(data, 1, size, f) == size ? 0 : -1;
    if (rc == 0)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    fclose(f);
    return rc;
}

/* Files of a folder; -1: one could not be read. */
static int run_folder(const char *folder, unsigned *count)
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort), rc = n < 0 ? -1 : 0;
    if (n < 0)
        perror(folder);
    for (int i = 0; i < n; i++) {
        char path[PATH_LEN];
        if (*names[i]->d_name != '.' && rc == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
            rc = run_file(path);
            ++*count;
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return rc;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    for (int i = 1; i < argc; i++)
        if (run_folder(argv[i], &count))
            return 1;
    printf("%u inputs\n", count);
    return count ? 0 : 1;
}
