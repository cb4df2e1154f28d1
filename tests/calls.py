"""Commands of the command line, called in the process of the test."""

from cogbias.cli import main


def command(*arguments: object) -> int:
    "The exit status of a command; what is neither an end nor a usage error is raised."
    try:
        main([str(each) for each in arguments])
    except SystemExit as stop:
        return stop.code or 0
    return 0
