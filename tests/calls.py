"""Commands of the command line and calls of the library, made in the process of the test."""

import pytest

from cogbias.cli import main
from cogbias.tables import CogbiasError


def command(*arguments):
    "The exit status of a command; what is neither an end nor a usage error is raised."
    try:
        main([str(each) for each in arguments])
    except SystemExit as stop:
        return stop.code or 0
    return 0


def refused(make):
    "The one line with which something is refused; fails where it is not."
    with pytest.raises(CogbiasError) as caught:
        make()
    assert "\n" not in str(caught.value)
    return str(caught.value)
