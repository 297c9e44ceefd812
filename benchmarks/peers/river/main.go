// River: one process with many workers, history kept. The commands and the marks are those of
// ../protocol.py.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	batch       = 1000
	connections = 32
	// As in River's own benchmark.
	maxWorkers    = 2000
	fetchCooldown = 2 * time.Millisecond
	fetchPoll     = 20 * time.Millisecond
)

type Note struct {
	Due float64 `json:"due"`
}

func (Note) Kind() string { return "note" }

type Marker struct {
	river.WorkerDefaults[Note]
	book *os.File
}

func (m *Marker) Work(_ context.Context, job *river.Job[Note]) error {
	mark := make([]byte, 16)
	binary.LittleEndian.PutUint64(mark, math.Float64bits(job.Args.Due))
	binary.LittleEndian.PutUint64(mark[8:], math.Float64bits(seconds(time.Now())))
	_, err := m.book.Write(mark)
	return err
}

func main() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(os.Getenv("PEER_URL"))
	check(err)
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	check(err)
	switch os.Args[1] {
	case "prepare":
		migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		check(err)
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		check(err)
	case "enqueue":
		enqueue(ctx, client(pool, nil), number(2), number(3), int(number(4)))
	case "submit":
		fmt.Println(submit(ctx, client(pool, nil), number(2), int(number(3))))
	case "work":
		work(ctx, pool)
	}
}

func enqueue(ctx context.Context, client *river.Client[pgx.Tx], first, rate float64, jobs int) {
	for start := 0; start < jobs; start += batch {
		part := make([]river.InsertManyParams, min(batch, jobs-start))
		for n := range part {
			due := first
			if rate > 0 {
				due += float64(start+n) / rate
			}
			part[n] = at(due)
		}
		_, err := client.InsertManyFast(ctx, part)
		check(err)
	}
}

// submit returns jobs a second: one by one on all connections, or batch after batch on one.
func submit(ctx context.Context, client *river.Client[pgx.Tx], during float64, size int) float64 {
	tomorrow := at(seconds(time.Now().AddDate(0, 0, 1)))
	many := make([]river.InsertManyParams, size)
	for n := range many {
		many[n] = tomorrow
	}
	began, crew := time.Now(), connections
	if size > 1 {
		crew = 1
	}
	var calls atomic.Int64
	var group sync.WaitGroup
	for range crew {
		group.Go(func() {
			for ; time.Since(began).Seconds() < during; calls.Add(1) {
				var err error
				if size == 1 {
					_, err = client.Insert(ctx, tomorrow.Args, tomorrow.InsertOpts)
				} else {
					_, err = client.InsertManyFast(ctx, many)
				}
				check(err)
			}
		})
	}
	group.Wait()
	return float64(size) * float64(calls.Load()) / time.Since(began).Seconds()
}

func work(ctx context.Context, pool *pgxpool.Pool) {
	book, err := os.OpenFile(os.Getenv("PEER_MARKS"), os.O_WRONLY|os.O_APPEND, 0)
	check(err)
	workers := river.NewWorkers()
	river.AddWorker(workers, &Marker{book: book})
	check(client(pool, workers).Start(ctx))
	select {}
}

func client(pool *pgxpool.Pool, workers *river.Workers) *river.Client[pgx.Tx] {
	config := &river.Config{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if workers != nil {
		config.Workers = workers
		config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}}
		config.FetchCooldown, config.FetchPollInterval = fetchCooldown, fetchPoll
	}
	made, err := river.NewClient(riverpgxv5.New(pool), config)
	check(err)
	return made
}

func at(due float64) river.InsertManyParams {
	when := time.UnixMicro(int64(1e6 * due))
	return river.InsertManyParams{Args: Note{due}, InsertOpts: &river.InsertOpts{ScheduledAt: when}}
}

func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }

func number(place int) float64 {
	value, err := strconv.ParseFloat(os.Args[place], 64)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
