#!/bin/sh
# Prints the path of the interpreter that a command means: tools/find_python.sh python3.13. It is the command itself
# where that runs. An installed interpreter may not run by its name: pyenv's command answers "not found" for a version
# that is not among the chosen ones. Then it is the newest that pyenv or uv keeps; else a message, and exit status 1.
name=${1:?usage: tools/find_python.sh COMMAND}

"$name" -c 'import sys; print(sys.executable)' 2>/dev/null && exit

kept() {
    # Plain releases only: a folder may end in a letter (3.13.0t, without the lock) or begin with another implementation.
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/[0-9]*[0-9]/bin/"$name" \
        "${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/uv/python}"/cpython-[0-9]*/bin/"$name" 2>/dev/null |
        sed -E 's,.*/(cpython-)?([0-9][0-9.]*)[^/]*/bin/[^/]*$,\2 &,' | sort -rV | cut -d' ' -f2-
}

kept | {
    while read -r candidate; do
        "$candidate" -c 'import sys; print(sys.executable)' 2>/dev/null && exit
    done
    echo "there is no Python interpreter $name: it does not run as a command, and neither pyenv nor uv keeps one of" \
        "that name. Install it (pyenv install 3.13), or give the path of one (make test PYTHON=/path/to/python3)" >&2
    exit 1
}
