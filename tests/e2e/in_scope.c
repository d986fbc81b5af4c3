/* in_scope.c - is a program with a session of gpufl that opens and closes scopes on command.
 *
 * Lines of its standard input: "begin NAME", "end" (the innermost scope), "kill" (ends at once, as
 * by SIGKILL). It answers each with "done", and ends with its input. The session's options come
 * from the environment. */
#include "gpufl/gpufl.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 16 };

int main(void)
{
    uint64_t open[DEPTH];
    char line[256];
    int depth = 0;
    if (gpufl_init(NULL))
        return 1;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "begin ", 6) == 0 && depth < DEPTH)
            open[depth++] = gpufl_scope_begin(line + 6, NULL);
        else if (strcmp(line, "end") == 0 && depth)
            gpufl_scope_end(open[--depth]);
        else if (strcmp(line, "kill") == 0)
            raise(SIGKILL);
        puts("done");
        fflush(stdout);
    }
    gpufl_shutdown();
    return 0;
}
