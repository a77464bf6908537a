// What Flux makes of objects: reads a JSON array of them from standard input and prints, one line each, the status that its kstatus
// library computes: Current, InProgress, Failed, Terminating or Unknown, and its message.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	var objects []any
	if err == nil {
		err = json.Unmarshal(text, &objects) // whole numbers as such
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, object := range objects {
		fields, _ := object.(map[string]any)
		result, err := status.Compute(&unstructured.Unstructured{Object: fields})
		if err != nil {
			fmt.Printf("Error %v\n", err)
			continue
		}
		fmt.Printf("%s %s\n", result.Status, result.Message)
	}
}
