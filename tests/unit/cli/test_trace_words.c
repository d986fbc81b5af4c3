/* test_trace_words.c - tests which programs a command line starts. */
#include "cli/trace/outcome/words.h"
#include "tests/test.h"

#define LIST(...) ((char *const[]){__VA_ARGS__, NULL})

static void check(char *const *command, enum word_wrapper kind, const char *name)
{
    char found[64];
    enum word_wrapper got = words_wrapper(command, found, sizeof found);
    if (got != kind)
        fail_msg("%s %s: %d, not %d", command[0], command[1] ? command[1] : "", got, kind);
    assert_string_equal(found, name);
}

TEST(wrappers_wherever_they_stand)
{
    check(LIST("sudo", "./prog"), WORD_USER, "sudo");
    check(LIST("/usr/bin/sudo", "-E", "./prog"), WORD_USER, "sudo");
    check(LIST("env", "FOO=1", "sudo", "./prog"), WORD_USER, "sudo");
    check(LIST("timeout", "-k", "5", "60", "nice", "-n", "5", "sudo", "./prog"), WORD_USER, "sudo");
    check(LIST("bash", "-c", "sudo ./prog"), WORD_USER, "sudo");
    check(LIST("bash", "-ec", "cd /x && FOO=1 sudo ./prog; echo done"), WORD_USER, "sudo");
    check(LIST("sh", "-c", "if true; then docker run x; fi"), WORD_REMOTE, "docker");
    check(LIST("bash", "-c", "bash -c 'ssh host prog'"), WORD_REMOTE, "ssh");
    check(LIST("env", "-i", "./prog"), WORD_ENV, "env -i");
    check(LIST("env", "-", "A=1", "./prog"), WORD_ENV, "env -i");
    check(LIST("bash", "-c", "x=$(env -i ./prog)"), WORD_ENV, "env -i");
}

TEST(words_that_are_no_commands)
{
    check(LIST("python3", "train.py", "--launcher", "ssh"), WORD_NONE, "");
    check(LIST("./prog", "sudo"), WORD_NONE, "");
    check(LIST("env", "A=1", "./prog", "-i"), WORD_NONE, "");
    check(LIST("bash", "-c", "echo sudo; ./prog docker"), WORD_NONE, "");
    check(LIST("bash", "script.sh", "sudo"), WORD_NONE, "");
    check(LIST("bash"), WORD_NONE, "");
    check(LIST("bash", "-c", ""), WORD_NONE, "");
    check(LIST("env"), WORD_NONE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrappers_wherever_they_stand),
        cmocka_unit_test(words_that_are_no_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
