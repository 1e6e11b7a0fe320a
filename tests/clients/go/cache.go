package main

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var cacheChecks = []check{
	{"a cache follows built-in and custom kinds", cacheFollows},
}

func cacheFollows(ctx context.Context, s *suite) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	made, err := cache.New(s.config, cache.Options{
		Scheme:            newScheme(),
		DefaultNamespaces: map[string]cache.Config{s.namespace: {}},
	})
	if err != nil {
		return err
	}
	byColor := func(object client.Object) []string { return []string{object.(*Widget).Spec.Color} }
	if err := made.IndexField(ctx, &Widget{}, "spec.color", byColor); err != nil {
		return err
	}
	informer, err := made.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	var added, changed, deleted atomic.Int32
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { changed.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	if err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- made.Start(ctx) }()
	if err := expect(made.WaitForCacheSync(ctx), "the cache did not sync"); err != nil {
		return err
	}
	before := added.Load()
	one := &corev1.ConfigMap{ObjectMeta: s.named("cached")}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	one.Data = map[string]string{"a": "b"}
	if err := s.client.Update(ctx, one); err != nil {
		return err
	}
	for number := range 3 {
		widget := &Widget{ObjectMeta: s.named(fmt.Sprintf("cached-%d", number)), Spec: WidgetSpec{Size: 1, Color: "blue"}}
		if err := s.client.Create(ctx, widget); err != nil {
			return err
		}
	}
	err = eventually(ctx, "the cache has the changes", func() (bool, error) {
		var read corev1.ConfigMap
		var blue WidgetList
		err := first(
			made.Get(ctx, client.ObjectKeyFromObject(one), &read),
			made.List(ctx, &blue, client.InNamespace(s.namespace), client.MatchingFields{"spec.color": "blue"}),
		)
		return read.Data["a"] == "b" && len(blue.Items) == 3 && added.Load() > before && changed.Load() > 0, err
	})
	if err != nil {
		return err
	}
	err = first(
		s.client.Delete(ctx, one),
		s.client.DeleteAllOf(ctx, &Widget{}, client.InNamespace(s.namespace)),
		eventually(ctx, "the cache saw the deletion", func() (bool, error) { return deleted.Load() > 0, nil }),
	)
	cancel()
	return first(err, <-stopped)
}
