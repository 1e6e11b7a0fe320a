package main

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

var widgetVersion = schema.GroupVersion{Group: "go.example.com", Version: "v1"}

// Widget is a custom resource: a controller makes as many config maps for it as its size says.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec   `json:"spec"`
	Status WidgetStatus `json:"status,omitempty"`
}

// WidgetSpec is what is wanted.
type WidgetSpec struct {
	Size  int32  `json:"size"`
	Color string `json:"color,omitempty"`
}

// WidgetStatus is what is there.
type WidgetStatus struct {
	Ready      int32              `json:"ready"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WidgetList is a list of widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Widget `json:"items"`
}

// DeepCopyObject copies a widget.
func (w *Widget) DeepCopyObject() runtime.Object {
	copied := *w
	copied.ObjectMeta = *w.ObjectMeta.DeepCopy()
	copied.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &copied
}

// DeepCopyObject copies a list of widgets.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = make([]Widget, len(l.Items))
	for place := range l.Items {
		copied.Items[place] = *l.Items[place].DeepCopyObject().(*Widget)
	}
	return &copied
}

func newScheme() *runtime.Scheme {
	made := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(made)
	_ = apiextensionsv1.AddToScheme(made)
	made.AddKnownTypes(widgetVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(made, widgetVersion)
	return made
}

func newScale(replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
}

func widgetDefinition() *apiextensionsv1.CustomResourceDefinition {
	size := apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int32", Minimum: ptr.To(0.0), Maximum: ptr.To(9.0)}
	color := apiextensionsv1.JSONSchemaProps{
		Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"red"`)},
		Enum: []apiextensionsv1.JSON{{Raw: []byte(`"red"`)}, {Raw: []byte(`"blue"`)}},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + widgetVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgetVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: widgetVersion.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {
							Type: "object", Required: []string{"size"},
							Properties:   map[string]apiextensionsv1.JSONSchemaProps{"size": size, "color": color},
							XValidations: apiextensionsv1.ValidationRules{{Rule: "self.size != 7", Message: "seven is not a size"}},
						},
						"status": {Type: "object", XPreserveUnknownFields: ptr.To(true)},
					},
				}},
			}},
		},
	}
}
