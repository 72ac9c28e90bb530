#!/usr/bin/env bash
# python_test.sh SCRIPT ARGUMENT…: runs a script with the system's Python.
exec /usr/bin/python3 "$@"
