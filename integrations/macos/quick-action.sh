#!/bin/zsh
# The script of a Quick Action: Automator, New, Quick Action; "Workflow receives current: image files in
# Finder"; add "Run Shell Script", shell /bin/zsh, pass input "as arguments"; paste this; save as
# "Everything in focus". Write depth instead of fuse, and another name, for a second one.
what=fuse
export PATH="$HOME/.local/bin:/opt/homebrew/bin:/usr/local/bin:$PATH"
folder=${1:h}
output="$folder/fused"
[[ $what == depth ]] && output="$folder/depth-${1:t:r}"
if message=$(varfocus $what --by-name "$@" -o "$output" 2>&1); then
    open "$output"
else
    osascript -e 'on run argv' -e 'display alert "varfocus" message (item 1 of argv)' -e 'end run' -- "$message"
fi
