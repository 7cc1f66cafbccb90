package perf

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Processes launches every Test with a client in a process of its own, and one server for all.
type Processes struct {
	// Weft is the command line before "perf": the program, and what puts it into a network of its own.
	Server, Client []string
	Address        string // of the server: its IP address, with the zone

	server *exec.Cmd
	target string // host:port
}

// startTime bounds the start of a process.
const startTime = 20 * time.Second

// Start starts the server.
func (p *Processes) Start(ctx context.Context) error {
	args := append(p.Server[1:len(p.Server):len(p.Server)], "perf", "server", "--bind", p.Address, "--port", "0", "--until-eof")
	p.server = exec.CommandContext(ctx, p.Server[0], args...)
	p.server.Cancel, p.server.WaitDelay = func() error { return p.server.Process.Kill() }, time.Second
	if _, err := p.server.StdinPipe(); err != nil { // it ends when we do, however that is
		return fmt.Errorf("server: %w", err)
	}
	lines, into := io.Pipe()
	p.server.Stderr = into
	if err := p.server.Start(); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	first := make(chan string, 1)
	go func() {
		in := bufio.NewScanner(lines)
		in.Scan()
		first <- in.Text()
		for in.Scan() { // so that the server never waits for its reader
		}
	}()
	select {
	case line := <-first:
		address, is := strings.CutPrefix(line, "listening on ")
		if !is {
			return errors.Join(fmt.Errorf("server: %s", strings.TrimPrefix(line, "weft: ")), p.Stop())
		}
		p.target = address
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Stop())
	case <-time.After(startTime):
		return errors.Join(fmt.Errorf("the server has not started within %v", startTime), p.Stop())
	}
}

// Stop ends the server.
func (p *Processes) Stop() error {
	if p.server == nil {
		return nil
	}
	p.server.Process.Kill()
	p.server.Wait()
	p.server.Stderr.(*io.PipeWriter).Close()
	p.server = nil
	return nil
}

// A tailBuffer keeps the last line of what a process says.
type tailBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Len() > 1<<16 {
		b.Reset()
	}
	return b.Buffer.Write(p)
}

func (b *tailBuffer) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "weft: ")
}

// Launch runs one client.
func (p *Processes) Launch(ctx context.Context, t Test) (r Result, err error) {
	exact, err := json.Marshal(t)
	if err != nil {
		return r, err
	}
	args := append(p.Client[1:len(p.Client):len(p.Client)], "perf", "client", p.target, "--json", "--exact", string(exact))
	c := exec.CommandContext(ctx, p.Client[0], args...)
	var out bytes.Buffer
	var says tailBuffer
	c.Stdout, c.Stderr, c.WaitDelay = &out, &says, time.Second
	if err := c.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return r, cause
		}
		if text := says.last(); text != "" {
			err = errors.New(text)
		}
		return r, err
	}
	for line := range bytes.Lines(out.Bytes()) {
		kind := struct {
			Kind string `json:"kind"`
			*Result
		}{Result: &r}
		if json.Unmarshal(line, &kind) == nil && kind.Kind == "perf_result" {
			return r, nil
		}
	}
	return r, errors.New("the client has printed no result")
}
