// Asks robfig/cron, the library of the CronJob controller, for the next times of schedules: JSON in, JSON out.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const times = 5

// In some zones, whose clocks go forward at midnight, Next never returns.
const patience = 2 * time.Second

type question struct {
	Schedule string    `json:"schedule"`
	Zone     string    `json:"zone"`
	After    time.Time `json:"after"`
}

type answer struct {
	question
	Refused bool        `json:"refused"`
	Hangs   bool        `json:"hangs"`
	Next    []time.Time `json:"next"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		log.Fatal(err)
	}
	lines := make([]string, 0, len(questions))
	for _, asked := range questions {
		line, err := json.Marshal(ask(asked))
		if err != nil {
			log.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	fmt.Printf("[\n%s\n]\n", strings.Join(lines, ",\n"))
}

func ask(asked question) answer {
	schedule, err := cron.ParseStandard("TZ=" + asked.Zone + " " + asked.Schedule)
	if err != nil {
		return answer{asked, true, false, []time.Time{}}
	}
	found := make(chan []time.Time)
	go func() { found <- first(schedule, asked.After) }()
	select {
	case next := <-found:
		return answer{asked, false, false, next}
	case <-time.After(patience):
		return answer{asked, false, true, []time.Time{}}
	}
}

func first(schedule cron.Schedule, after time.Time) []time.Time {
	next := []time.Time{}
	for len(next) < times {
		after = schedule.Next(after)
		if after.IsZero() {
			break
		}
		next = append(next, after.UTC())
	}
	return next
}
