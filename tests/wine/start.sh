#!/bin/sh
# Runs a test program under Wine. Now and then Wine's server closes the connection of a new program, which ends with status 1 before
# it begins. A program that has printed nothing has not begun, as a test program prints a line before its first test, and gets one more
# chance.
printed=$(wine "$@")
status=$?
if [ $status -eq 1 ] && [ -z "$printed" ]; then
    echo "Wine did not start this program: once more" >&2
    printed=$(wine "$@")
    status=$?
fi
[ -z "$printed" ] || printf '%s\n' "$printed"
exit $status
