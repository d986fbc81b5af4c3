# The native side of src/stack: tests of one file each.
