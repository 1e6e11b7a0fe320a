// Command load drives a Kubernetes API server with one kind of request and prints what it measured as JSON.
// It speaks plain HTTP/1.1 over TLS with one connection per client, so that both servers get the same bytes.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	server   = flag.String("server", "", "https://host:port")
	token    = flag.String("token", "", "bearer token")
	method   = flag.String("method", "GET", "HTTP method")
	path     = flag.String("path", "", "path; %d is the number of the request")
	body     = flag.String("body", "", "body; %d is the number of the request")
	kind     = flag.String("type", "application/json", "content type")
	clients  = flag.Int("clients", 1, "connections at a time")
	requests = flag.Int("requests", 1000, "requests in all")
	first    = flag.Int("first", 0, "number of the first request")
	seconds  = flag.Float64("seconds", 0, "stop after this long, whatever is left")
	watchers = flag.Int("watchers", 0, "watch -path with this many clients while -requests objects are created")
	create   = flag.String("create", "", "where the watched objects are created")
)

type result struct {
	Requests int     `json:"requests"`
	Errors   int     `json:"errors"`
	Seconds  float64 `json:"seconds"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Events   int     `json:"events"`
	Message  string  `json:"message"`
}

func newClient() *http.Client {
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxIdleConnsPerHost: 1,
		DisableCompression:  true,
	}
	return &http.Client{Transport: transport}
}

func send(client *http.Client, method, path, body, kind string) (int, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequest(method, *server+path, reader)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+*token)
	request.Header.Set("User-Agent", "load/1.0")
	request.Header.Set("Accept", "application/json")
	if body != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if response.StatusCode >= 300 {
		io.CopyN(&text, response.Body, 300)
		io.Copy(io.Discard, response.Body)
		return response.StatusCode, fmt.Errorf("%d %s", response.StatusCode, text.String())
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func fill(text string, number int) string {
	return strings.ReplaceAll(text, "%d", fmt.Sprint(number))
}

func drive() result {
	var next atomic.Int64
	next.Store(int64(*first))
	last := int64(*first + *requests)
	var group sync.WaitGroup
	var lock sync.Mutex
	var times []float64
	var failures int
	var message string
	ready := make([]*http.Client, *clients)
	for i := range ready {
		ready[i] = newClient()
		send(ready[i], "GET", "/readyz", "", "")
	}
	begun := time.Now()
	for i := 0; i < *clients; i++ {
		group.Add(1)
		go func(client *http.Client) {
			defer group.Done()
			var own []float64
			var wrong int
			var text string
			for {
				number := next.Add(1) - 1
				if number >= last || (*seconds > 0 && time.Since(begun).Seconds() > *seconds) {
					break
				}
				at := time.Now()
				_, err := send(client, *method, fill(*path, int(number)), fill(*body, int(number)), *kind)
				own = append(own, float64(time.Since(at).Microseconds())/1000)
				if err != nil {
					wrong++
					text = err.Error()
				}
			}
			lock.Lock()
			times = append(times, own...)
			failures += wrong
			if text != "" {
				message = text
			}
			lock.Unlock()
		}(ready[i])
	}
	group.Wait()
	return summary(times, failures, time.Since(begun).Seconds(), message)
}

func summary(times []float64, failures int, took float64, message string) result {
	sort.Float64s(times)
	found := result{Requests: len(times), Errors: failures, Seconds: took, Message: message}
	if len(times) > 0 {
		found.P50 = times[len(times)/2]
		found.P99 = times[len(times)*99/100]
	}
	return found
}

// watch reads events until all created objects were seen, and notes how long after its creation began each one came.
func watch(begun *sync.Map, ready *sync.WaitGroup, total int) ([]float64, error) {
	request, _ := http.NewRequest("GET", *server+*path, nil)
	request.Header.Set("Authorization", "Bearer "+*token)
	request.Header.Set("User-Agent", "load/1.0")
	response, err := newClient().Do(request)
	if err != nil {
		ready.Done()
		return nil, err
	}
	defer response.Body.Close()
	reader := bufio.NewReaderSize(response.Body, 1<<16)
	ready.Done()
	var delays []float64
	mark := []byte(`"name":"fan-`)
	for len(delays) < total {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return delays, err
		}
		at := bytes.Index(line, mark)
		if at < 0 || !bytes.HasPrefix(line, []byte(`{"type":"ADDED"`)) {
			continue
		}
		rest := line[at+len(mark):]
		name := string(rest[:bytes.IndexByte(rest, '"')])
		if sent, ok := begun.Load(name); ok {
			delays = append(delays, float64(time.Since(sent.(time.Time)).Microseconds())/1000)
		}
	}
	return delays, nil
}

func fanOut() result {
	var begun sync.Map
	var ready, group sync.WaitGroup
	var lock sync.Mutex
	var delays []float64
	var failures int
	var message string
	ready.Add(*watchers)
	for i := 0; i < *watchers; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			own, err := watch(&begun, &ready, *requests)
			lock.Lock()
			delays = append(delays, own...)
			if err != nil {
				failures++
				message = err.Error()
			}
			lock.Unlock()
		}()
	}
	ready.Wait()
	time.Sleep(500 * time.Millisecond)
	start := time.Now()
	var next atomic.Int64
	var writers sync.WaitGroup
	for i := 0; i < *clients; i++ {
		writers.Add(1)
		go func() {
			defer writers.Done()
			client := newClient()
			for {
				number := int(next.Add(1) - 1)
				if number >= *requests {
					return
				}
				begun.Store(fmt.Sprint(number), time.Now())
				if _, err := send(client, "POST", *create, fill(*body, number), *kind); err != nil {
					lock.Lock()
					failures++
					message = err.Error()
					lock.Unlock()
				}
			}
		}()
	}
	writers.Wait()
	group.Wait()
	found := summary(delays, failures, time.Since(start).Seconds(), message)
	found.Events = len(delays)
	return found
}

func main() {
	flag.Parse()
	var found result
	if *watchers > 0 {
		found = fanOut()
	} else {
		found = drive()
	}
	json.NewEncoder(os.Stdout).Encode(found)
}
