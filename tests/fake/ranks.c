/* ranks.c - is a "launcher" with several processes that use the GPU, as torchrun has. The launcher
 * itself does not use it. It prints the processes as a line of JSON and takes orders on stdin:
 *
 *   fake_ranks N
 *     kill PID    SIGKILL, and waits for its end
 *     stop PID    SIGSTOP
 *     cont PID    SIGCONT
 *     end         all end by themselves, as at the end of stdin
 *
 * Exit code: 0, or how many processes ended in another way than ordered. */
#include "cuda_calls.h"
#include "hooks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 64, KERNELS = 10, BROKEN = 99 };

static pid_t ranks[RANKS];
static int killed;

/* Works, and waits until the launcher closes its end. */
static int rank(int in)
{
    cuda_stream s;
    char byte;
    if (cuInit(0) || cuStreamCreate(&s, 0))
        return BROKEN;
    for (int i = 0; i < KERNELS; i++)
        if (cuLaunchKernel("_Z4rankPf", 1, 1, 1, 64, 1, 1, 0, s, NULL, NULL))
            return BROKEN;
    if (cuStreamSynchronize(s))
        return BROKEN;
    while (read(in, &byte, 1) > 0) {
    }
    return 0;
}

static void obey(const char *line)
{
    int pid = 0;
    if (sscanf(line, "kill %d", &pid) == 1 && pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        killed++;
    } else if (sscanf(line, "stop %d", &pid) == 1 && pid > 0) {
        kill(pid, SIGSTOP);
    } else if (sscanf(line, "cont %d", &pid) == 1 && pid > 0) {
        kill(pid, SIGCONT);
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 2, ends[2], wrong = 0, status;
    char line[64];
    if (count < 1 || count > RANKS || pipe(ends))
        return BROKEN;
    for (int i = 0; i < count; i++) {
        ranks[i] = fork();
        if (ranks[i] == 0) {
            close(ends[1]);
            return rank(ends[0]);
        }
    }
    close(ends[0]);
    printf("{\"ranks\":%d}\n", count);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && strncmp(line, "end", 3) != 0)
        obey(line);
    close(ends[1]);
    for (int left = count - killed; left > 0; left--)
        wrong += wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return wrong;
}
