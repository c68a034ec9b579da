"""The scripts by which shells complete `milkctl`.

They know nothing of verbs and options: they hand the words of the line over to
`milkctl completion candidates` and get candidates, each with a tab and what it is.
"""

from __future__ import annotations

__all__ = ["FILES", "SHELLS"]

FILES = ":files"
"""What a script is told where names of files are wanted."""

BASH = """\
# Completion of milkctl for bash; in ~/.bashrc:  eval "$(milkctl completion bash)"
_milkctl() {
    local line names=() shown=()
    while IFS= read -r line; do
        names+=("${line%%$'\\t'*}")
        shown+=("${line/$'\\t'/  -- }")
    done < <("$1" completion candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=()
    if [[ ${names[0]} == :files ]]; then
        return # -o default completes names of files
    elif ((${#names[@]} > 1)); then
        COMPREPLY=("${shown[@]}") # what is common to all is inserted: never what they are
    else
        COMPREPLY=("${names[@]}")
    fi
}
complete -o default -o nosort -F _milkctl milkctl
"""
ZSH = """\
#compdef milkctl
# Completion of milkctl for zsh; in ~/.zshrc, after compinit:  eval "$(milkctl completion zsh)"
_milkctl() {
    local line
    local -a names shown
    while IFS= read -r line; do
        names+=("${line%%$'\\t'*}")
        shown+=("${line/$'\\t'/  -- }")
    done < <("${words[1]}" completion candidates -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if [[ ${names[1]} == :files ]]; then
        _files
    elif (($#names)); then
        compadd -U -l -V milkctl -d shown -a names
    fi
}
if [[ ${funcstack[1]} == _milkctl ]]; then _milkctl "$@"; else compdef _milkctl milkctl; fi
"""
FISH = """\
# Completion of milkctl for fish; in ~/.config/fish/config.fish:  milkctl completion fish | source
function __milkctl_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($words[1] completion candidates -- $words[2..-1] "$current" 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path "$current"
    else if set -q found[1]
        printf '%s\\n' $found
    end
end
complete -c milkctl -f -a '(__milkctl_candidates)'
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
