package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var customChecks = []check{
	{"install a definition and wait until it is established", installDefinition},
	{"typed custom resource", typedWidget},
	{"unstructured custom resource", unstructuredWidget},
	{"server-side apply of a custom resource", applyWidget},
	{"metadata only", metadataOnly},
	{"watch", watchWidgets},
}

func installDefinition(ctx context.Context, s *suite) error {
	definition := widgetDefinition()
	if err := client.IgnoreAlreadyExists(s.client.Create(ctx, definition)); err != nil {
		return err
	}
	err := eventually(ctx, "the definition is established", func() (bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(definition), definition)
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, err
			}
		}
		return false, err
	})
	if err != nil {
		return err
	}
	_, err = s.client.RESTMapper().RESTMapping(widgetVersion.WithKind("Widget").GroupKind(), "v1")
	return err
}

func typedWidget(ctx context.Context, s *suite) error {
	one := &Widget{ObjectMeta: s.named("typed"), Spec: WidgetSpec{Size: 2}}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	if err := expect(one.Spec.Color == "red", "no default: %v", one.Spec); err != nil {
		return err
	}
	one.Status.Ready = 1
	meta.SetStatusCondition(&one.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Made"})
	if err := s.client.Status().Update(ctx, one); err != nil {
		return err
	}
	before := one.DeepCopyObject().(*Widget)
	one.Spec.Color = "blue"
	if err := s.client.Patch(ctx, one, client.MergeFrom(before)); err != nil {
		return err
	}
	seven := s.client.Create(ctx, &Widget{ObjectMeta: s.named("seven"), Spec: WidgetSpec{Size: 7}})
	large := s.client.Create(ctx, &Widget{ObjectMeta: s.named("large"), Spec: WidgetSpec{Size: 10}})
	var list WidgetList
	return first(
		s.client.List(ctx, &list, client.InNamespace(s.namespace)),
		expect(len(list.Items) == 1 && list.Items[0].Status.Ready == 1 && list.Items[0].Spec.Color == "blue", "list: %v", list.Items),
		expect(one.Generation == 2, "generation: %d", one.Generation),
		expect(apierrors.IsInvalid(seven), "seven: %v", seven),
		expect(apierrors.IsInvalid(large), "large: %v", large),
		s.client.Delete(ctx, one),
	)
}

func unstructuredWidget(ctx context.Context, s *suite) error {
	one := s.widget("loose", map[string]any{"size": int64(3)})
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(one.Object, int64(4), "spec", "size"); err != nil {
		return err
	}
	if err := s.client.Update(ctx, one); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(widgetVersion.WithKind("WidgetList"))
	if err := s.client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	size, _, err := unstructured.NestedInt64(list.Items[0].Object, "spec", "size")
	return first(err,
		expect(len(list.Items) == 1 && size == 4, "list: %v", list.Items),
		s.client.Delete(ctx, one),
	)
}

func applyWidget(ctx context.Context, s *suite) error {
	one := s.widget("applied", map[string]any{"size": int64(3)})
	apply := client.ApplyConfigurationFromUnstructured(one)
	if err := s.client.Apply(ctx, apply, client.FieldOwner("first")); err != nil {
		return err
	}
	other := s.widget("applied", map[string]any{"size": int64(5)})
	err := s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(other), client.FieldOwner("second"))
	var read Widget
	forced := client.ApplyConfigurationFromUnstructured(s.widget("applied", map[string]any{"size": int64(5)}))
	return first(
		expect(apierrors.IsConflict(err), "no conflict: %v", err),
		s.client.Apply(ctx, forced, client.FieldOwner("second"), client.ForceOwnership),
		s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "applied"}, &read),
		expect(read.Spec.Size == 5, "size: %d", read.Spec.Size),
		s.client.Delete(ctx, &read),
	)
}

func metadataOnly(ctx context.Context, s *suite) error {
	one := &Widget{ObjectMeta: s.named("partial"), Spec: WidgetSpec{Size: 1}}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(widgetVersion.WithKind("Widget"))
	maps := &metav1.PartialObjectMetadataList{}
	maps.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	return first(
		s.client.Create(ctx, one),
		s.client.Get(ctx, client.ObjectKeyFromObject(one), partial),
		expect(partial.UID == one.UID, "uid: %s", partial.UID),
		s.client.List(ctx, maps, client.InNamespace(s.namespace)),
		expect(len(maps.Items) > 0 && maps.Items[0].Name != "", "no metadata"),
		s.client.Delete(ctx, partial),
	)
}

func watchWidgets(ctx context.Context, s *suite) error {
	watcher, err := s.client.Watch(ctx, &WidgetList{}, client.InNamespace(s.namespace))
	if err != nil {
		return err
	}
	defer watcher.Stop()
	one := &Widget{ObjectMeta: s.named("watched"), Spec: WidgetSpec{Size: 1}}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	one.Spec.Size = 2
	if err := first(s.client.Update(ctx, one), s.client.Delete(ctx, one)); err != nil {
		return err
	}
	for _, wanted := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		select {
		case event := <-watcher.ResultChan():
			if err := expect(event.Type == wanted, "%s, not %s", event.Type, wanted); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *suite) widget(name string, spec map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	made.SetGroupVersionKind(widgetVersion.WithKind("Widget"))
	made.SetNamespace(s.namespace)
	made.SetName(name)
	return made
}
