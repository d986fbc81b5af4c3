/* spent.c - runs a command and adds a line to a file: processor seconds of all its processes, the
 * kind, the command's output file. CMake starts compilers and linkers with it (run.py). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_AT = 1, KIND_AT, COMMAND_AT, LINE_BYTES = 1024 };

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static const char *output_of(int argc, char **argv)
{
    for (int i = COMMAND_AT; i + 1 < argc; i++)
        if (strcmp(argv[i], "-o") == 0)
            return argv[i + 1];
    return "-";
}

int main(int argc, char **argv)
{
    int status;
    char line[LINE_BYTES];
    struct rusage used;
    if (argc <= COMMAND_AT)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[COMMAND_AT], argv + COMMAND_AT);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) < 0)
        return 127;
    int n = snprintf(line, sizeof line, "%.3f %s %.900s\n",
                     seconds(used.ru_utime) + seconds(used.ru_stime), argv[KIND_AT],
                     output_of(argc, argv));
    int fd = open(argv[FILE_AT], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || n < 0 || write(fd, line, (size_t)n) != n)
        perror(argv[FILE_AT]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
