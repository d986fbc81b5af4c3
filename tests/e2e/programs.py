"""Programs that a test makes. A file that is open for writing anywhere cannot be run ("Text file busy"), and a process that
another thread starts at that moment has the descriptor too, until it runs its own program. So a process of its own writes.

Standard library only."""
import os
import subprocess


def written(path, text):
    """A script with this text at this path: the path."""
    subprocess.run(["install", "-m", "700", "/dev/stdin", path], input=text, text=True, check=True)
    return path


def copied(program, folder):
    """A copy of the program in the folder: the copy's path."""
    subprocess.run(["cp", program, folder], check=True)
    return os.path.join(folder, os.path.basename(program))
