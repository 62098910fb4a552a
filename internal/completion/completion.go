// Package completion writes scripts that complete the commands of a program in shells.
//
// The package owns the form of the scripts for bash, zsh and fish. Callers supply the commands. The
// scripts contain all words, so they never start the program. The package fails only when it cannot
// write.
package completion

import (
	"fmt"
	"io"
	"strings"
	"text/template"
)

// Junction is a place on the command line. Path has the words before this place, each after a
// space. Words lists the words that may follow.
type Junction struct {
	Path  string
	Words []string
}

// scripts maps a shell to its script. A script follows the commands among the words before the
// cursor. It then offers the words that may follow, or files.
var scripts = map[string]string{
	"bash": `_passerelle() {
	local path= word words=
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case "$path $word" in
		{{below . "|" "\""}}) path="$path $word" ;;
		esac
	done
	case "$path" in{{range .}}
	"{{.Path}}") words="{{join .Words " "}}" ;;{{end}}
	esac
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _passerelle passerelle passerellectl
`,
	"zsh": `#compdef passerelle passerellectl
local step= word
for word in "${(@)words[2,CURRENT-1]}"; do
	case "$step $word" in
	{{below . "|" "\""}}) step="$step $word" ;;
	esac
done
case "$step" in{{range .}}
"{{.Path}}") compadd -- {{join .Words " "}} ;;{{end}}
esac
_files
`,
	"fish": `function __passerelle_step
	set -l step ''
	for word in (commandline -opc)[2..-1]
		switch "$step $word"
			case {{below . " " "'"}}
				set step "$step $word"
		end
	end
	echo "$step"
end
{{range .}}complete -c passerelle -n 'test (__passerelle_step) = "{{.Path}}"' -a '{{join .Words " "}}'
{{end}}complete -c passerellectl -w passerelle
`,
}

// Write writes the script for a shell: bash, zsh or fish. steps[0] is the place before any command.
func Write(out io.Writer, shell string, steps []Junction) error {
	script, err := template.New(shell).Funcs(template.FuncMap{"join": strings.Join, "below": pathsBelow}).Parse(scripts[shell])
	if err != nil {
		return fmt.Errorf("read the script for %s: %w", shell, err)
	}
	return script.Execute(out, steps)
}

// pathsBelow returns the quoted paths of all steps except the first one, as a pattern for a shell.
func pathsBelow(steps []Junction, separator, quote string) string {
	var paths []string
	for _, step := range steps[1:] {
		paths = append(paths, quote+step.Path+quote)
	}
	return strings.Join(paths, separator)
}
