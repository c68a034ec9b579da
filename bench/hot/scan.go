// The linear scan of the program that milkd's model comes from: every stored fact is read
// anew for each question.  Facts come from the file that is named; each line of the standard
// input is a question, each line of the output its nanoseconds, the row (-1: none) and the
// similarity.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const threshold = 0.60

var stops = map[string]bool{}

// words gives the distinct runs of letters and digits that are no stop words, letter by letter.
func words(text string) map[string]struct{} {
	found := make(map[string]struct{})
	var word strings.Builder
	end := func() {
		if word.Len() > 0 && !stops[word.String()] {
			found[word.String()] = struct{}{}
		}
		word.Reset()
	}
	for _, letter := range strings.ToLower(text) {
		if 'a' <= letter && letter <= 'z' || '0' <= letter && letter <= '9' {
			word.WriteRune(letter)
		} else {
			end()
		}
	}
	end()
	return found
}

func similarity(one, other map[string]struct{}) float64 {
	shared := 0
	for word := range one {
		if _, has := other[word]; has {
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(len(one)+len(other)-shared)
}

// most gives the row that is most like a text, the first of equals.
func most(facts []string, text string) (int, float64) {
	wanted, row, best := words(text), -1, 0.0
	for number, fact := range facts {
		if found := similarity(wanted, words(fact)); found >= threshold && found > best {
			row, best = number, found
		}
	}
	return row, best
}

// threadTime is the processor time of this thread in nanoseconds (Linux; elsewhere 0).
func threadTime() int64 {
	var spec syscall.Timespec
	const threadClock = 3
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&spec)), 0)
	return spec.Nano()
}

func main() {
	for _, word := range strings.Fields(os.Args[2]) {
		stops[word] = true
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	facts := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	runtime.LockOSThread()
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		thread, began := threadTime(), time.Now()
		row, found := most(facts, questions.Text())
		took := time.Since(began).Nanoseconds()
		if used := threadTime() - thread; used > 0 && used < took {
			took = used
		}
		fmt.Println(took, row, found)
	}
}
