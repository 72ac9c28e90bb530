#!/bin/sh
exec /usr/bin/flatc "$@"
