// gitops_reader says what Flux and Argo CD make of an object: kstatus as Flux has it, and Lua as Argo CD runs it.
//
// Each line of its input is {"object": ..., "script": "..."}; it answers each with one line, {"answer": ...} or
// {"error": "..."}. Without a script the answer is kstatus's, else what the script returns for the global `obj`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

const (
	longestLine = 8 << 20
	timeLimit   = time.Second // Argo CD's own
)

type question struct {
	Object json.RawMessage `json:"object"`
	Script string          `json:"script"`
}

type reply struct {
	Answer any    `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var said reply
		answer, err := ask(lines.Bytes())
		if err != nil {
			said.Error = err.Error()
		} else {
			said.Answer = answer
		}
		if err := out.Encode(said); err != nil {
			panic(err)
		}
	}
}

func ask(line []byte) (any, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	if asked.Script != "" {
		return run(asked.Script, asked.Object)
	}
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(asked.Object); err != nil {
		return nil, err
	}
	return status.Compute(&object)
}

// run gives a script what Argo CD gives it: the base and table libraries, `os` with `time` and `date` only, a second.
func run(script string, object []byte) (json.RawMessage, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return nil, fmt.Errorf("library %q: %w", name, err)
		}
	}
	clock := clockOf(state)
	state.PreloadModule(lua.OsLibName, func(state *lua.LState) int {
		state.Push(clock)
		return 1
	})
	limited, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	state.SetContext(limited)
	value, err := luajson.Decode(state, object)
	if err != nil {
		return nil, err
	}
	state.SetGlobal("obj", value)
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	return luajson.Encode(state.Get(-1))
}

// clockOf returns what Argo CD leaves of the library `os`.
func clockOf(state *lua.LState) *lua.LTable {
	whole := lua.NewState()
	defer whole.Close()
	safe := state.NewTable()
	for _, name := range []string{"time", "date"} {
		function := whole.GetField(whole.GetGlobal(lua.OsLibName), name).(*lua.LFunction)
		state.SetField(safe, name, state.NewFunction(function.GFunction))
	}
	state.SetGlobal(lua.OsLibName, safe)
	return safe
}
