/* dl_sample.c - is a library for test_dl.c to open. */
__attribute__((visibility("default"))) int sample_one(void);
__attribute__((visibility("default"))) int sample_two(void);

int sample_one(void)
{
    return 1;
}

int sample_two(void)
{
    return 2;
}
