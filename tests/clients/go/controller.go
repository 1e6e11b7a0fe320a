package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "go.example.com/parts"

var controllerChecks = []check{
	{"a controller with owned objects, finalizer and events", runController},
}

// reconciler keeps as many config maps for a widget as its size says.
type reconciler struct {
	client.Client
	recorder record.EventRecorder
	swept    chan string
}

// Reconcile makes the parts of one widget, and sweeps up after it.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !widget.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&widget, finalizer) {
			if err := r.Update(ctx, &widget); err != nil {
				return ctrl.Result{}, err
			}
			r.swept <- widget.Name
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&widget, finalizer) {
		return ctrl.Result{}, r.Update(ctx, &widget)
	}
	return ctrl.Result{}, r.makeParts(ctx, &widget)
}

func (r *reconciler) makeParts(ctx context.Context, widget *Widget) error {
	for number := range widget.Spec.Size {
		part := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: widget.Namespace, Name: partName(widget, number)}}
		_, err := controllerutil.CreateOrUpdate(ctx, r.Client, part, func() error {
			part.Data = map[string]string{"color": widget.Spec.Color}
			return controllerutil.SetControllerReference(widget, part, r.Scheme())
		})
		if err != nil {
			return err
		}
	}
	if widget.Status.Ready == widget.Spec.Size {
		return nil
	}
	widget.Status.Ready = widget.Spec.Size
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "PartsMade", ObservedGeneration: widget.Generation}
	meta.SetStatusCondition(&widget.Status.Conditions, condition)
	r.recorder.Eventf(widget, corev1.EventTypeNormal, "PartsMade", "made %d parts", widget.Spec.Size)
	return r.Status().Update(ctx, widget)
}

func runController(ctx context.Context, s *suite) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	manager, err := ctrl.NewManager(s.config, ctrl.Options{
		Scheme:                        newScheme(),
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "widgets",
		LeaderElectionNamespace:       s.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorderFor("widgets"), swept: make(chan string, 10)}
	if err := ctrl.NewControllerManagedBy(manager).For(&Widget{}).Owns(&corev1.ConfigMap{}).Complete(r); err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	err = s.driveController(ctx, r)
	cancel()
	return first(err, <-stopped)
}

func (s *suite) driveController(ctx context.Context, r *reconciler) error {
	widget := &Widget{ObjectMeta: s.named("driven"), Spec: WidgetSpec{Size: 3}}
	if err := s.client.Create(ctx, widget); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(widget)
	err := eventually(ctx, "the widget is ready", func() (bool, error) {
		err := s.client.Get(ctx, key, widget)
		return widget.Status.Ready == 3, err
	})
	if err != nil {
		return err
	}
	part := &corev1.ConfigMap{ObjectMeta: s.named(partName(widget, 1))}
	if err := s.client.Delete(ctx, part); err != nil {
		return err
	}
	err = eventually(ctx, "the controller makes a lost part again", func() (bool, error) {
		return true, s.client.Get(ctx, client.ObjectKeyFromObject(part), part)
	})
	if err := first(err, expect(metav1.IsControlledBy(part, widget), "owner: %v", part.OwnerReferences)); err != nil {
		return err
	}
	err = eventually(ctx, "an event tells of it", func() (bool, error) {
		var events corev1.EventList
		err := s.client.List(ctx, &events, client.InNamespace(s.namespace), client.MatchingFields{"involvedObject.name": "driven"})
		return len(events.Items) == 1 && events.Items[0].Reason == "PartsMade", err
	})
	if err := first(err, s.client.Delete(ctx, widget)); err != nil {
		return err
	}
	select {
	case <-r.swept:
	case <-ctx.Done():
		return fmt.Errorf("the finalizer was never removed")
	}
	return eventually(ctx, "the parts go with their owner", func() (bool, error) {
		return apierrors.IsNotFound(s.client.Get(ctx, client.ObjectKeyFromObject(part), part)), nil
	})
}

func partName(widget *Widget, number int32) string {
	return fmt.Sprintf("%s-%d", widget.Name, number)
}
