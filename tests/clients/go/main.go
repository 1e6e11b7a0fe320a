// Command clients exercises an API server with controller-runtime and client-go.
//
// It takes the namespace to work in, prints a line per check, and exits with 1 if one fails.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const checkTimeout = 60 * time.Second

// check is one thing that must work.
type check struct {
	name string
	run  func(context.Context, *suite) error
}

// suite is what every check works with.
type suite struct {
	config    *rest.Config
	client    client.WithWatch
	namespace string
}

func main() {
	log.SetLogger(logr.Discard())
	s, err := newSuite(os.Getenv("KUBECONFIG"), os.Args[1])
	if err != nil {
		fmt.Println("FAIL connect:", err)
		os.Exit(1)
	}
	failed := false
	for _, group := range [][]check{builtinChecks, customChecks, cacheChecks, controllerChecks, electionChecks} {
		for _, one := range group {
			if err := s.run(one); err != nil {
				fmt.Printf("FAIL %s: %v\n", one.name, err)
				failed = true
				continue
			}
			fmt.Println("ok", one.name)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func newSuite(kubeconfig, namespace string) (*suite, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 1000
	c, err := client.NewWithWatch(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, err
	}
	return &suite{config: config, client: c, namespace: namespace}, nil
}

func (s *suite) run(one check) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	return one.run(ctx, s)
}

// expect turns an unmet condition into an error.
func expect(holds bool, format string, arguments ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, arguments...)
}

// first gives the first error there is.
func first(errors ...error) error {
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}

// eventually asks until the answer is yes.
func eventually(ctx context.Context, what string, holds func() (bool, error)) error {
	var last error
	for {
		done, err := holds()
		if done && err == nil {
			return nil
		}
		last = err
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s never came true; last error: %v", what, last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
