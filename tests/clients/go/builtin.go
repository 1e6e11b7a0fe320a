package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// The bodies of these checks travel as protobuf: all kinds are built-in ones.
var builtinChecks = []check{
	{"create, get and list built-in kinds", createBuiltin},
	{"every field of a pod survives protobuf", podSurvives},
	{"update and conflict", updateConflict},
	{"merge patch and optimistic lock", mergePatch},
	{"strategic merge patch", strategicPatch},
	{"server-side apply with an apply configuration", applyConfiguration},
	{"status update leaves the specification alone", statusUpdate},
	{"create or update", createOrUpdate},
	{"scale, eviction and binding", podSubresources},
	{"errors have their types", typedErrors},
	{"paging and selectors", pagingAndSelectors},
	{"delete, delete all of and preconditions", deletes},
	{"generated names and dry run", generatedNames},
	{"clientset with protobuf", clientset},
}

func createBuiltin(ctx context.Context, s *suite) error {
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: s.named("one"), Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"raw": {0, 255}}},
		&corev1.Secret{ObjectMeta: s.named("one"), StringData: map[string]string{"password": "secret"}},
		&corev1.ServiceAccount{ObjectMeta: s.named("robot")},
		&corev1.Service{ObjectMeta: s.named("one"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}}}},
		&appsv1.Deployment{ObjectMeta: s.named("one"), Spec: appsv1.DeploymentSpec{Selector: selector("one"), Template: template("one")}},
		&batchv1.Job{ObjectMeta: s.named("one"), Spec: batchv1.JobSpec{Suspend: ptr.To(true), Template: jobTemplate()}},
		&rbacv1.Role{ObjectMeta: s.named("one"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}},
		&corev1.ResourceQuota{ObjectMeta: s.named("one"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/leases.coordination.k8s.io": resource.MustParse("50")}}},
	}
	for _, object := range objects {
		if err := s.client.Create(ctx, object); err != nil {
			return fmt.Errorf("%T: %w", object, err)
		}
		read := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(object), read); err != nil {
			return fmt.Errorf("%T: %w", object, err)
		}
		if err := expect(read.GetUID() == object.GetUID() && read.GetUID() != "", "%T: another uid", object); err != nil {
			return err
		}
	}
	var jobs batchv1.JobList
	err := s.client.List(ctx, &jobs, client.InNamespace(s.namespace))
	return first(err,
		expect(len(jobs.Items) == 1, "%d jobs", len(jobs.Items)),
		expect(jobs.Items[0].Spec.Selector.MatchLabels["batch.kubernetes.io/controller-uid"] == string(jobs.Items[0].UID), "no generated selector"),
	)
}

func podSurvives(ctx context.Context, s *suite) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: "full",
			Labels:      map[string]string{"app": "full", "empty": ""},
			Annotations: map[string]string{"note": "two\nlines ✓"},
			Finalizers:  []string{"example.com/hold"},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To(int64(0)),
			ActiveDeadlineSeconds:         ptr.To(int64(1 << 30)),
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			NodeSelector:                  map[string]string{"disk": "fast"},
			SchedulingGates:               []corev1.PodSchedulingGate{{Name: "example.com/gate"}},
			SecurityContext:               &corev1.PodSecurityContext{RunAsUser: ptr.To(int64(0)), FSGroup: ptr.To(int64(7))},
			Tolerations:                   []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(int64(-1))}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight:     5,
				Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpIn, Values: []string{"b", ""}}}},
			}}}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("1.5Gi"))}}},
				{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}}}}}},
			},
			Containers: []corev1.Container{{
				Name: "one", Image: "busybox", Command: []string{"sh", ""}, Stdin: true,
				Env:          []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu", Divisor: resource.MustParse("1m")}}}},
				Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("250m"), "example.com/device": resource.MustParse("2")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data", ReadOnly: true}},
				LivenessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80), HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: "y"}}}},
					PeriodSeconds: 9,
				},
			}},
		},
	}
	wanted := pod.DeepCopy()
	var read corev1.Pod
	if err := first(s.client.Create(ctx, pod), s.client.Get(ctx, client.ObjectKeyFromObject(pod), &read)); err != nil {
		return err
	}
	spec := read.Spec
	return first(
		expect(reflect.DeepEqual(read.Labels, wanted.Labels), "labels: %v", read.Labels),
		expect(reflect.DeepEqual(read.Annotations, wanted.Annotations), "annotations: %v", read.Annotations),
		expect(reflect.DeepEqual(spec.Affinity, wanted.Spec.Affinity), "affinity: %v", spec.Affinity),
		expect(reflect.DeepEqual(spec.SecurityContext, wanted.Spec.SecurityContext), "security: %v", spec.SecurityContext),
		expect(reflect.DeepEqual(spec.SchedulingGates, wanted.Spec.SchedulingGates), "gates: %v", spec.SchedulingGates),
		expect(*spec.TerminationGracePeriodSeconds == 0 && *spec.ActiveDeadlineSeconds == 1<<30, "seconds"),
		expect(!*spec.AutomountServiceAccountToken && !*spec.EnableServiceLinks, "a false became true"),
		expect(spec.Volumes[0].EmptyDir.SizeLimit.Cmp(resource.MustParse("1536Mi")) == 0, "size limit: %v", spec.Volumes[0].EmptyDir.SizeLimit),
		expect(*spec.Volumes[1].Projected.Sources[0].ServiceAccountToken.ExpirationSeconds == 3600, "no default inside a projection"),
		expect(reflect.DeepEqual(spec.Containers[0].Command, []string{"sh", ""}), "command: %q", spec.Containers[0].Command),
		expect(spec.Containers[0].Resources.Requests.Cpu().String() == "250m", "requests: %v", spec.Containers[0].Resources),
		expect(spec.Containers[0].LivenessProbe.FailureThreshold == 3 && spec.Containers[0].LivenessProbe.PeriodSeconds == 9, "probe"),
		expect(*spec.Tolerations[0].TolerationSeconds == -1, "toleration: %v", spec.Tolerations[0]),
		s.client.Patch(ctx, &read, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))),
		s.client.Delete(ctx, &read),
	)
}

func updateConflict(ctx context.Context, s *suite) error {
	one := &corev1.ConfigMap{ObjectMeta: s.named("updated"), Data: map[string]string{"a": "0"}}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	stale := one.DeepCopy()
	one.Data = map[string]string{"a": "1"}
	if err := s.client.Update(ctx, one); err != nil {
		return err
	}
	stale.Data = map[string]string{"a": "2"}
	err := s.client.Update(ctx, stale)
	return first(
		expect(apierrors.IsConflict(err), "no conflict: %v", err),
		expect(one.ResourceVersion != stale.ResourceVersion, "the revision did not move"),
		expect(one.ManagedFields[0].Operation == metav1.ManagedFieldsOperationUpdate, "managed fields: %v", one.ManagedFields),
	)
}

func mergePatch(ctx context.Context, s *suite) error {
	one := &corev1.ConfigMap{ObjectMeta: s.named("patched"), Data: map[string]string{"a": "1", "b": "2"}}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	before := one.DeepCopy()
	delete(one.Data, "a")
	one.Data["c"] = "3"
	if err := s.client.Patch(ctx, one, client.MergeFrom(before)); err != nil {
		return err
	}
	late := before.DeepCopy()
	late.Data["a"] = "9"
	err := s.client.Patch(ctx, late, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return first(
		expect(reflect.DeepEqual(one.Data, map[string]string{"b": "2", "c": "3"}), "data: %v", one.Data),
		expect(apierrors.IsConflict(err), "no conflict: %v", err),
	)
}

func strategicPatch(ctx context.Context, s *suite) error {
	one := &appsv1.Deployment{ObjectMeta: s.named("strategic"), Spec: appsv1.DeploymentSpec{Selector: selector("strategic"), Template: template("strategic")}}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	before := one.DeepCopy()
	one.Spec.Template.Spec.Containers = append(one.Spec.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side"})
	if err := s.client.Patch(ctx, one, client.StrategicMergeFrom(before)); err != nil {
		return err
	}
	return first(
		expect(len(one.Spec.Template.Spec.Containers) == 2, "containers: %v", one.Spec.Template.Spec.Containers),
		expect(one.Generation == 2, "generation: %d", one.Generation),
	)
}

func applyConfiguration(ctx context.Context, s *suite) error {
	wanted := applyapps.Deployment("applied", s.namespace).WithSpec(applyapps.DeploymentSpec().
		WithReplicas(2).
		WithSelector(applymeta.LabelSelector().WithMatchLabels(map[string]string{"app": "applied"})).
		WithTemplate(applycore.PodTemplateSpec().WithLabels(map[string]string{"app": "applied"}).
			WithSpec(applycore.PodSpec().WithContainers(applycore.Container().WithName("one").WithImage("nginx:1")))))
	if err := s.client.Apply(ctx, wanted, client.FieldOwner("first")); err != nil {
		return err
	}
	wanted.Spec.WithReplicas(3)
	err := s.client.Apply(ctx, wanted, client.FieldOwner("second"))
	var read appsv1.Deployment
	return first(
		expect(apierrors.IsConflict(err), "no conflict: %v", err),
		s.client.Apply(ctx, wanted, client.FieldOwner("second"), client.ForceOwnership),
		s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "applied"}, &read),
		expect(*read.Spec.Replicas == 3, "replicas: %d", *read.Spec.Replicas),
		expect(len(read.ManagedFields) == 2, "managers: %v", read.ManagedFields),
	)
}

func statusUpdate(ctx context.Context, s *suite) error {
	one := &batchv1.Job{ObjectMeta: s.named("status"), Spec: batchv1.JobSpec{Suspend: ptr.To(true), Template: jobTemplate()}}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	one.Spec.Suspend = ptr.To(false)
	one.Status.Active = 1
	one.Status.Ready = ptr.To(int32(0))
	one.Status.StartTime = ptr.To(metav1.NewTime(time.Unix(1700000000, 0)))
	if err := s.client.Status().Update(ctx, one); err != nil {
		return err
	}
	if err := expect(*one.Spec.Suspend && one.Status.Active == 1 && *one.Status.Ready == 0, "status update: %v", one.Status); err != nil {
		return err
	}
	before := one.DeepCopy()
	one.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	if err := s.client.Status().Patch(ctx, one, client.StrategicMergeFrom(before)); err != nil {
		return err
	}
	return expect(len(one.Status.Conditions) == 1 && one.Generation == 1, "status patch: %v", one.Status)
}

func createOrUpdate(ctx context.Context, s *suite) error {
	one := &corev1.ConfigMap{ObjectMeta: s.named("either")}
	for _, wanted := range []controllerutil.OperationResult{
		controllerutil.OperationResultCreated, controllerutil.OperationResultNone, controllerutil.OperationResultUpdated,
	} {
		done, err := controllerutil.CreateOrUpdate(ctx, s.client, one, func() error {
			if wanted == controllerutil.OperationResultUpdated {
				one.Data = map[string]string{"a": "b"}
			}
			return nil
		})
		if err := first(err, expect(done == wanted, "%s, not %s", done, wanted)); err != nil {
			return err
		}
	}
	return nil
}

func podSubresources(ctx context.Context, s *suite) error {
	deployment := &appsv1.Deployment{ObjectMeta: s.named("scaled"), Spec: appsv1.DeploymentSpec{Selector: selector("scaled"), Template: template("scaled")}}
	scale := newScale(4)
	pod := &corev1.Pod{ObjectMeta: s.named("evicted"), Spec: template("evicted").Spec}
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}
	err := first(
		s.client.Create(ctx, deployment),
		s.client.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale)),
		s.client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment),
	)
	if err := first(err, expect(*deployment.Spec.Replicas == 4, "replicas: %d", *deployment.Spec.Replicas)); err != nil {
		return err
	}
	err = first(
		s.client.Create(ctx, pod),
		s.client.SubResource("binding").Create(ctx, pod, binding),
		s.client.Get(ctx, client.ObjectKeyFromObject(pod), pod),
	)
	if err := first(err, expect(pod.Spec.NodeName == "nowhere", "node: %q", pod.Spec.NodeName)); err != nil {
		return err
	}
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}}
	err = s.client.SubResource("eviction").Create(ctx, pod, eviction)
	gone := s.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	return first(err, expect(apierrors.IsNotFound(gone), "still there: %v", gone))
}

func typedErrors(ctx context.Context, s *suite) error {
	missing := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "missing"}, &corev1.Pod{})
	invalid := s.client.Create(ctx, &corev1.Pod{ObjectMeta: s.named("invalid")})
	one := &corev1.ConfigMap{ObjectMeta: s.named("twice")}
	created := s.client.Create(ctx, one.DeepCopy())
	twice := s.client.Create(ctx, one.DeepCopy())
	elsewhere := s.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "not-there", Name: "one"}})
	stranger := rest.CopyConfig(s.config)
	stranger.Impersonate = rest.ImpersonationConfig{UserName: "stranger"}
	c, err := client.New(stranger, client.Options{Scheme: newScheme(), Mapper: s.client.RESTMapper()})
	if err := first(err, created); err != nil {
		return err
	}
	forbidden := c.Get(ctx, client.ObjectKeyFromObject(one), one)
	return first(
		expect(apierrors.IsNotFound(missing), "missing: %v", missing),
		expect(apierrors.IsInvalid(invalid), "invalid: %v", invalid),
		expect(apierrors.IsAlreadyExists(twice), "twice: %v", twice),
		expect(apierrors.IsNotFound(elsewhere), "elsewhere: %v", elsewhere),
		expect(apierrors.IsForbidden(forbidden), "forbidden: %v", forbidden),
	)
}

func pagingAndSelectors(ctx context.Context, s *suite) error {
	for number := range 5 {
		one := &corev1.ConfigMap{ObjectMeta: s.named(fmt.Sprintf("page-%d", number))}
		one.Labels = map[string]string{"paged": "yes", "odd": fmt.Sprint(number%2 == 1)}
		if err := s.client.Create(ctx, one); err != nil {
			return err
		}
	}
	var page, odd, named corev1.ConfigMapList
	seen, rounds := 0, 0
	for rounds == 0 || page.Continue != "" {
		err := s.client.List(ctx, &page, client.InNamespace(s.namespace), client.MatchingLabels{"paged": "yes"}, client.Limit(2), client.Continue(page.Continue))
		if err != nil {
			return err
		}
		seen, rounds = seen+len(page.Items), rounds+1
	}
	requirement, err := labels.Parse("odd in (true),paged")
	return first(err,
		expect(seen == 5 && rounds == 3, "%d in %d pages", seen, rounds),
		s.client.List(ctx, &odd, client.InNamespace(s.namespace), client.MatchingLabelsSelector{Selector: requirement}),
		expect(len(odd.Items) == 2, "%d odd ones", len(odd.Items)),
		s.client.List(ctx, &named, client.InNamespace(s.namespace), client.MatchingFields{"metadata.name": "page-3"}),
		expect(len(named.Items) == 1, "%d named ones", len(named.Items)),
	)
}

func deletes(ctx context.Context, s *suite) error {
	one := &corev1.ConfigMap{ObjectMeta: s.named("deleted")}
	if err := s.client.Create(ctx, one); err != nil {
		return err
	}
	wrong := s.client.Delete(ctx, one, client.Preconditions{UID: ptr.To(types.UID("another"))})
	again := one.DeepCopy()
	var left corev1.ConfigMapList
	return first(
		expect(apierrors.IsConflict(wrong), "precondition: %v", wrong),
		s.client.Delete(ctx, one, client.DryRunAll),
		s.client.Delete(ctx, one, client.PropagationPolicy(metav1.DeletePropagationForeground), client.GracePeriodSeconds(0)),
		eventually(ctx, "deleted", func() (bool, error) {
			return apierrors.IsNotFound(s.client.Delete(ctx, again)), nil
		}),
		s.client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(s.namespace), client.MatchingLabels{"paged": "yes"}),
		s.client.List(ctx, &left, client.InNamespace(s.namespace), client.MatchingLabels{"paged": "yes"}),
		expect(len(left.Items) == 0, "%d left", len(left.Items)),
	)
}

func generatedNames(ctx context.Context, s *suite) error {
	one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: "made-"}}
	dry := &corev1.ConfigMap{ObjectMeta: s.named("dry")}
	err := first(s.client.Create(ctx, one), s.client.Create(ctx, dry, client.DryRunAll))
	missing := s.client.Get(ctx, client.ObjectKeyFromObject(dry), dry)
	return first(err,
		expect(len(one.Name) == len("made-")+5, "name: %s", one.Name),
		expect(apierrors.IsNotFound(missing), "the dry run was kept: %v", missing),
	)
}

func clientset(ctx context.Context, s *suite) error {
	config := rest.CopyConfig(s.config)
	config.ContentType = runtime.ContentTypeProtobuf
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-node"}}
	if _, err := set.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	pods := set.CoreV1().Pods(s.namespace)
	applied, err := pods.Apply(ctx, applycore.Pod("clientset", s.namespace).WithSpec(applycore.PodSpec().
		WithContainers(applycore.Container().WithName("one").WithImage("busybox"))), metav1.ApplyOptions{FieldManager: "mine"})
	if err != nil {
		return err
	}
	applied.Status.Phase = corev1.PodRunning
	running, err := pods.UpdateStatus(ctx, applied, metav1.UpdateOptions{})
	if err := first(err, expect(running.Status.Phase == corev1.PodRunning, "phase: %s", running.Status.Phase)); err != nil {
		return err
	}
	version, err := set.Discovery().ServerVersion()
	if err := first(err, expect(version.Minor == "34", "version: %v", version)); err != nil {
		return err
	}
	_, lists, err := set.Discovery().ServerGroupsAndResources()
	return first(err,
		expect(len(lists) > 20, "%d groups", len(lists)),
		pods.Delete(ctx, "clientset", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}),
		set.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}),
	)
}

func (s *suite) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "one", Image: "nginx"}}},
	}
}

func jobTemplate() corev1.PodTemplateSpec {
	made := template("job")
	made.Spec.RestartPolicy = corev1.RestartPolicyNever
	return made
}
