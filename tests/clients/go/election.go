package main

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var electionChecks = []check{
	{"one leader at a time, and the next takes over", elect},
}

func elect(ctx context.Context, s *suite) error {
	set, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return err
	}
	leaders := make(chan string, 2)
	stopFirst := s.candidate(ctx, set, "first", leaders)
	if err := awaitLeader(ctx, leaders, "first"); err != nil {
		return err
	}
	stopSecond := s.candidate(ctx, set, "second", leaders)
	defer stopSecond()
	stopFirst()
	if err := awaitLeader(ctx, leaders, "second"); err != nil {
		return err
	}
	var lease coordinationv1.Lease
	return first(
		s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "elected"}, &lease),
		expect(*lease.Spec.HolderIdentity == "second", "holder: %s", *lease.Spec.HolderIdentity),
		expect(*lease.Spec.LeaseTransitions >= 1, "transitions: %d", *lease.Spec.LeaseTransitions),
	)
}

func (s *suite) candidate(ctx context.Context, set kubernetes.Interface, name string, leaders chan<- string) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  s.named("elected"),
		Client:     set.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, ReleaseOnCancel: true,
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leaders <- name },
			OnStoppedLeading: func() {},
		},
	})
	return cancel
}

func awaitLeader(ctx context.Context, leaders <-chan string, wanted string) error {
	select {
	case name := <-leaders:
		return expect(name == wanted, "%s leads, not %s", name, wanted)
	case <-ctx.Done():
		return fmt.Errorf("nobody leads")
	}
}
