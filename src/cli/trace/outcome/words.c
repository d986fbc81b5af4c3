/* words.c - see words.h. */
#include "cli/trace/outcome/words.h"

#include "backend/vendor.h"
#include "base/file/file.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH = 4, WORDS = 256, SCRIPT = 4096 };

static const struct {
    const char *name;
    enum word_wrapper kind;
} wrappers[] = {
    {"sudo", WORD_USER},      {"doas", WORD_USER},      {"su", WORD_USER},
    {"runuser", WORD_USER},   {"pkexec", WORD_USER},    {"systemd-run", WORD_USER},
    {"ssh", WORD_REMOTE},     {"docker", WORD_REMOTE},  {"podman", WORD_REMOTE},
    {"nerdctl", WORD_REMOTE}, {"kubectl", WORD_REMOTE}, {"flatpak", WORD_REMOTE},
};

/* Lists programs that run what follows them in their own environment. */
static const char *const carriers[] = {
    "env",    "nice", "time",    "timeout", "nohup",   "stdbuf", "setsid",  "exec",
    "ionice", "chrt", "taskset", "numactl", "command", "strace", "setpriv", "unshare"};

static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};

static bool is_one(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

#define IS(word, list) is_one(word, list, sizeof(list) / sizeof(list)[0])

static enum word_wrapper look(char *const *words, char *name, size_t size, int depth);

/* Cuts a script into words and looks at each of its commands. */
static enum word_wrapper look_into(const char *script, char *name, size_t size, int depth)
{
    char text[SCRIPT];
    char *words[WORDS + 1];
    size_t count = 0;
    enum word_wrapper found = WORD_NONE;
    snprintf(text, sizeof text, "%s", script);
    for (char *at = text; *at && found == WORD_NONE;) {
        size_t gap = strspn(at, " \t\"'");
        at += gap;
        size_t len = strcspn(at, " \t\"';&|(){}\n`$");
        char end = at[len];
        if (len && count < WORDS)
            words[count++] = at;
        at += len;
        if (*at)
            *at++ = '\0';
        if (!end || strchr(";&|(){}\n`$", end)) {
            words[count] = NULL;
            found = look(words, name, size, depth - 1);
            count = 0;
        }
    }
    words[count] = NULL;
    return found == WORD_NONE && count ? look(words, name, size, depth - 1) : found;
}

/* Returns true for the name of a variable that makes a vendor's driver load the capture library. */
static bool is_injection(const char *name)
{
    for (const struct vendor *const *v = vendors; *v; v++)
        if (((*v)->injection && strcmp(name, (*v)->injection) == 0) ||
            ((*v)->injection_ranges && strcmp(name, (*v)->injection_ranges) == 0))
            return true;
    return false;
}

/* Returns true for "env -i", "env -" and "env -u CUDA_INJECTION64_PATH". */
static bool clears(char *const *words)
{
    for (; *words && (**words == '-' || strchr(*words, '=')); words++)
        if (strcmp(*words, "-") == 0 || strcmp(*words, "-i") == 0 ||
            strcmp(*words, "--ignore-environment") == 0 ||
            (strncmp(*words, "-u", 2) == 0 && words[1] && is_injection(words[1])))
            return true;
    return false;
}

static enum word_wrapper look(char *const *words, char *name, size_t size, int depth)
{
    static const char *const openers[] = {"if", "then", "else", "do", "while", "!"};
    for (; *words && depth > 0; words++) {
        const char *base = path_base(*words);
        for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
            if (strcmp(base, wrappers[i].name) == 0) {
                snprintf(name, size, "%s", base);
                return wrappers[i].kind;
            }
        if (strcmp(base, "env") == 0 && clears(words + 1)) {
            snprintf(name, size, "env -i");
            return WORD_ENV;
        }
        if (IS(base, shells)) {
            for (words++; *words && **words == '-'; words++)
                if (strchr(*words, 'c') && words[0][1] != '-' && words[1])
                    return look_into(words[1], name, size, depth);
            return WORD_NONE;
        }
        bool carries = IS(base, carriers) || IS(base, openers);
        if (!carries && !strchr(*words, '='))
            return WORD_NONE;
        while (carries && words[1] &&
               (*words[1] == '-' || strspn(words[1], "0123456789.smh") == strlen(words[1])))
            words++;
    }
    return WORD_NONE;
}

enum word_wrapper words_wrapper(char *const *command, char *name, size_t size)
{
    name[0] = '\0';
    return look(command, name, size, DEPTH);
}
