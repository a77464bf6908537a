// crd-check prints what an API server would find wrong with the CustomResourceDefinitions in the given YAML files.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, path := range os.Args[1:] {
		definition, err := read(path)
		if err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		for _, mistake := range validation.ValidateCustomResourceDefinition(context.Background(), definition) {
			fmt.Printf("%s: %v\n", definition.Name, mistake)
		}
	}
}

// read decodes strictly and defaults as the server does on a create request.
func read(path string) (*apiextensions.CustomResourceDefinition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var external v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &external); err != nil {
		return nil, err
	}
	v1.SetDefaults_CustomResourceDefinition(&external)
	v1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	var internal apiextensions.CustomResourceDefinition
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, &internal, nil); err != nil {
		return nil, err
	}
	// The server notes the storage version before it validates.
	for _, version := range internal.Spec.Versions {
		if version.Storage {
			internal.Status.StoredVersions = []string{version.Name}
		}
	}
	return &internal, nil
}
